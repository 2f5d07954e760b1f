-- Scores that came with a run file are an evaluation that nobody here made; where a claim comes from is kept beside it.
ALTER TABLE evaluations ADD COLUMN imported BOOLEAN DEFAULT false;
ALTER TABLE statements ADD COLUMN origin VARCHAR; -- class of the six-way partition; null where not every table was judged
