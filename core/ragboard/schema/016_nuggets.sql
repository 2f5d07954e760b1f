-- The nuggets of a question: short facts that a good answer has. They belong to the question with its history, and so to
-- every run that asks it. Append-only: each change is a new list, and the newest counts.
CREATE SEQUENCE nugget_list_numbers;

CREATE TABLE nugget_lists (
    number BIGINT PRIMARY KEY DEFAULT nextval('nugget_list_numbers'),
    question VARCHAR NOT NULL,
    history JSON NOT NULL,
    nuggets JSON NOT NULL,
    author VARCHAR NOT NULL,
    approved BOOLEAN NOT NULL,
    written TIMESTAMP NOT NULL
);

CREATE VIEW current_nuggets AS
SELECT * FROM nugget_lists
QUALIFY row_number() OVER (PARTITION BY question, history::VARCHAR ORDER BY number DESC) = 1;

CREATE TABLE assignments (
    evaluation_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    number INTEGER NOT NULL,
    nugget VARCHAR NOT NULL,
    importance VARCHAR,
    label VARCHAR NOT NULL,
    reason VARCHAR NOT NULL
);

COMMENT ON TABLE nugget_lists IS 'Every version of the nuggets of a question; current_nuggets has those that count.';
COMMENT ON COLUMN nugget_lists.history IS 'Earlier turns, as a JSON list: the question is another one after others.';
COMMENT ON COLUMN nugget_lists.nuggets IS 'A JSON list of objects with text and importance (vital, okay or null).';
COMMENT ON COLUMN nugget_lists.author IS 'The judge or the person who wrote this version, or the run file it is from.';
COMMENT ON COLUMN nugget_lists.approved IS 'Whether a person approved this version.';
COMMENT ON COLUMN nugget_lists.written IS 'UTC.';
COMMENT ON VIEW current_nuggets IS 'The nuggets of each question, in their newest version.';
COMMENT ON TABLE assignments IS 'Whether an answer states each nugget of its question.';
COMMENT ON COLUMN assignments.number IS 'From 0.';
COMMENT ON COLUMN assignments.nugget IS 'Its text when it was judged.';
COMMENT ON COLUMN assignments.label IS 'support, partial_support, not_support; failed where the judge gave no usable reply.';
