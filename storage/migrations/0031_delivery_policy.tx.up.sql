-- How a delivery is attempted, and what the end of its incident does to it, frozen
-- when it is created. Null: the policy of the channel's type, for rows of older
-- versions.
ALTER TABLE deliveries ADD COLUMN IF NOT EXISTS policy jsonb;

-- The policies that older versions had in their code. Deliveries that have ended
-- and resolved incidents need none: nothing is decided about them any more.
WITH policies (type, policy) AS (VALUES
    ('webhook', '{"max_attempts": 12, "late_opening": "deliver", "recovery_after_failure": true}'::jsonb),
    ('email',   '{"max_attempts": 12, "late_opening": "merge", "recovery_after_failure": true}'),
    ('push',    '{"max_attempts": 6, "late_opening": "merge", "recovery_after_failure": true}'),
    ('chat',    '{"max_attempts": 6, "late_opening": "merge", "recovery_after_failure": true}'),
    ('pager',   '{"max_attempts": 6, "late_opening": "drop", "recovery_after_failure": false}')
), frozen AS (
    UPDATE deliveries AS d SET policy = p.policy FROM policies AS p
    WHERE p.type = d.channel_type AND d.policy IS NULL AND (d.status = 'pending' OR d.redeliver)
)
UPDATE incidents AS i SET audience = (
    SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object('policy', p.policy)) || a.one ORDER BY a.n)
    FROM jsonb_array_elements(i.audience) WITH ORDINALITY AS a (one, n) LEFT JOIN policies AS p ON p.type = a.one->>'type'
)
WHERE i.status <> 'resolved' AND jsonb_array_length(i.audience) > 0;
