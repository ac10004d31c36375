//! Statistics of requests to `_find`.

use std::time::Duration;

/// Number of examined documents for each result above which the response has a warning.
const MAX_EXAMINED_PER_RESULT: u64 = 10;

/// Numbers of keys and documents that were read for a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FindStatistics {
    /// Number of keys of an index that were read, or of ids.
    pub keys: u64,
    /// Number of documents on which the selector was evaluated.
    pub documents: u64,
    /// Number of documents in the response.
    pub results: u64,
}

impl FindStatistics {
    /// The member `execution_stats` of the response.
    pub fn written(&self, elapsed: Duration) -> String {
        let Self { keys, documents, results } = self;
        let milliseconds = elapsed.as_secs_f64() * 1_000.0;
        format!(
            "{{\"total_keys_examined\":{keys},\"total_docs_examined\":{documents},\"total_quorum_docs_examined\":0,\
             \"results_returned\":{results},\"execution_time_ms\":{milliseconds:.3}}}"
        )
    }

    /// The warning about a selector that few of the examined documents match.
    pub fn warning(&self) -> Option<&'static str> {
        let is_high = self.documents > MAX_EXAMINED_PER_RESULT * self.results.max(1);
        is_high.then_some(
            "The number of documents examined is high in proportion to the number of results returned. Consider adding a \
             more specific index to improve this.",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_have_couchdbs_members() {
        let statistics = FindStatistics { keys: 7, documents: 6, results: 5 };
        assert_eq!(
            statistics.written(Duration::from_micros(5_520)),
            r#"{"total_keys_examined":7,"total_docs_examined":6,"total_quorum_docs_examined":0,"results_returned":5,"execution_time_ms":5.520}"#
        );
    }

    #[test]
    fn more_than_ten_documents_for_a_result_cause_a_warning() {
        for (documents, results, is_warned) in
            [(10, 0, false), (11, 0, true), (10, 1, false), (11, 1, true), (20, 2, false)]
        {
            let statistics = FindStatistics { keys: documents, documents, results };
            assert_eq!(statistics.warning().is_some(), is_warned, "{documents} {results}");
        }
    }
}
