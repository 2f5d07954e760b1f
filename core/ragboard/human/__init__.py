"""Human labels: annotation, agreement of judges with annotators, and estimates from labels and scores."""
