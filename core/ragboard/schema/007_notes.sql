-- What a person wrote about a run.
ALTER TABLE runs ADD COLUMN notes VARCHAR DEFAULT '';
