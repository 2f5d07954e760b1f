-- What the results of an evaluation were computed from: if it is still the same, there is nothing to compute again.
ALTER TABLE evaluations ADD COLUMN IF NOT EXISTS loaded JSON;
COMMENT ON COLUMN evaluations.loaded IS 'Digest of what the results were computed from, and counts of tasks; null: unknown.';
