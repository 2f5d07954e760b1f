"""What people say of answers: labels, annotation, agreement with judges, and estimates from both."""
