-- An evaluation may cover a part of its run; and it can be taken up again by its name alone.
ALTER TABLE evaluations ADD COLUMN covered INTEGER;
ALTER TABLE evaluations ADD COLUMN judging JSON;       -- how its judges were named; null where nobody named them
UPDATE evaluations SET covered = (SELECT samples FROM runs WHERE runs.run_id = evaluations.run_id);
