-- What people say, append-only. A label hangs on an answer in its setting and on a place in it, not on a run: it is
-- found again wherever the same answer to the same question over the same passages is, and survives a run's deletion.
ALTER TABLE samples ADD COLUMN answer_key VARCHAR;      -- digest of question, history, answer and passages

UPDATE samples SET answer_key = md5(
    md5(question) || md5(history::VARCHAR) || md5(coalesce(answer, '')) || coalesce((
        SELECT string_agg(md5(p.text), '' ORDER BY md5(p.text)) FROM passages p
        WHERE p.run_id = samples.run_id AND p.position = samples.position
    ), '')
);

CREATE TABLE labelled_answers (
    answer_key VARCHAR PRIMARY KEY,
    question VARCHAR NOT NULL,
    history JSON NOT NULL,
    answer VARCHAR NOT NULL,
    contexts VARCHAR[] NOT NULL        -- in order of retrieval
);

CREATE SEQUENCE label_numbers;

CREATE TABLE labels (
    number BIGINT PRIMARY KEY DEFAULT nextval('label_numbers'),
    said TIMESTAMP NOT NULL,           -- UTC
    annotator VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,             -- verdict, grade, preference
    answer_key VARCHAR NOT NULL,
    other_key VARCHAR NOT NULL,        -- of a preference: the other answer, b where this is a
    dimension VARCHAR NOT NULL,        -- of a grade or preference: which quality
    statement VARCHAR NOT NULL,        -- of a verdict
    span_start INTEGER,
    span_end INTEGER,
    span_how VARCHAR,
    value VARCHAR,                     -- null: what the person had said there is taken back
    note VARCHAR NOT NULL,
    queue VARCHAR NOT NULL,            -- browsing, random, disagreement, imported
    design VARCHAR NOT NULL,           -- of imported labels how their answers were chosen: random, not random, unknown
    run_id VARCHAR NOT NULL,           -- where it was said, for display
    sample_id VARCHAR NOT NULL
);

-- What each person says now, in each queue by itself.
CREATE VIEW current_labels AS
SELECT * FROM (
    SELECT * FROM labels
    QUALIFY row_number() OVER (
        PARTITION BY annotator, queue, kind, answer_key, other_key, dimension, statement, span_start, span_end
        ORDER BY number DESC
    ) = 1
) WHERE value IS NOT NULL;

-- The verdicts of people on the statements of every evaluation. The words must be the same where the places overlap,
-- or, where both were found word for word, the places nearly so: a better splitter loses no label.
CREATE VIEW human_verdicts AS
SELECT t.evaluation_id, t.position, t.statement, l.value AS label, l.number, l.said, l.annotator, l.note, l.queue,
    l.design
FROM current_labels l
JOIN samples s ON s.answer_key = l.answer_key
JOIN evaluations e ON e.run_id = s.run_id
JOIN statements t ON t.evaluation_id = e.evaluation_id AND t.position = s.position AND t.side = 'response'
WHERE l.kind = 'verdict' AND (
    (l.statement = t.text AND (l.span_start IS NULL OR t.span_start IS NULL
        OR greatest(l.span_start, t.span_start) < least(l.span_end, t.span_end)))
    OR (l.span_how = 'verbatim' AND t.span_how = 'verbatim'
        AND 5 * (least(l.span_end, t.span_end) - greatest(l.span_start, t.span_start))
            >= 4 * (greatest(l.span_end, t.span_end) - least(l.span_start, t.span_start)))
);

-- Samples drawn to be labelled: how they were chosen decides what may be concluded from them.
CREATE TABLE draws (
    draw_id VARCHAR PRIMARY KEY,
    kind VARCHAR NOT NULL,             -- verdict, grade, preference
    run_id VARCHAR NOT NULL,
    evaluation_id VARCHAR NOT NULL,    -- whose statements are labelled; empty where whole answers are
    other_run_id VARCHAR NOT NULL,     -- of preferences: the run that the first is held against
    seed BIGINT NOT NULL,
    population INTEGER NOT NULL,       -- samples that could have been drawn
    positions INTEGER[] NOT NULL,      -- those that were, in order
    drawn TIMESTAMP NOT NULL           -- UTC
);

COMMENT ON TABLE labelled_answers IS 'Answers that people judged, with all that a label hangs on.';
COMMENT ON COLUMN labelled_answers.contexts IS 'The passages, in order of retrieval.';
COMMENT ON TABLE labels IS 'Everything that people ever said, append-only; current_labels has what holds.';
COMMENT ON COLUMN labels.answer_key IS 'Digest of question, history, answer and passages: samples.answer_key.';
COMMENT ON COLUMN labels.kind IS 'verdict, grade, preference.';
COMMENT ON COLUMN labels.value IS 'A verdict, a grade from 1 to 5, or a, b, tie; null takes back.';
COMMENT ON COLUMN labels.queue IS 'browsing, random, disagreement, imported.';
COMMENT ON TABLE draws IS 'Samples drawn at random to be labelled.';
COMMENT ON COLUMN draws.positions IS 'The samples drawn, in order.';
COMMENT ON VIEW current_labels IS 'What each person says now, in each queue by itself.';
COMMENT ON VIEW human_verdicts IS 'Verdicts of people on the statements of every evaluation.';
