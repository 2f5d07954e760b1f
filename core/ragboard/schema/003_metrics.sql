-- What the metrics of an evaluation are, so that their scores can be shown without the code that counted them.
CREATE TABLE metrics (
    evaluation_id VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    description JSON NOT NULL,
    PRIMARY KEY (evaluation_id, metric)
);
