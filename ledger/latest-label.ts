/**
 * SQL: whether the latest label of the row `event` of the ledger says fraud; null without a label. Of labels of one instant
 * the last by name counts, so that every reader answers the same.
 */
export const IS_FRAUD = `(select label.outcome_label <> 'FALSE_POSITIVE' from outcome_label label
        where label.site_id = event.site_id and label.ingestion_id = event.id
        order by label.labelled_at desc, label.outcome_label desc limit 1)`;
