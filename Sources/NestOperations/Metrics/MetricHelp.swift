/// The help text of each metric.
package enum MetricHelp {
    package static func text(of name: String) -> String { Self.texts[name] ?? Self.unknown }

    /// The text for a metric that is not in the list. A test fails for such a metric.
    package static let unknown = "See the source."

    private static let texts = [
        "nest_build_info": "1; its label is the running version.",
        "nest_ready": "1 while the server is ready, as /readyz reports it.",
        "nest_engine_answers":
            "1 if the engine answered this scrape in time; if not, its metrics are missing.",
        // The I/O layer, through swift-metrics.
        "nest_connections": "Connections that are served.",
        "nest_connections_total": "Connections accepted, including those refused as busy.",
        "nest_connections_bytes": "Bytes that all connections hold together: received, and waiting to be sent.",
        "nest_connections_rejected_total": "Connections that ended before WELCOME.",
        "nest_connections_flooding_total": "Connections ended because they sent too many control frames.",
        "nest_connections_shed_total": "Connections ended because all connections together held too much memory.",
        "nest_accept_pauses_total": "Times that accepting paused for lack of descriptors or memory.",
        "nest_connections_blocked_total": "Times that a connection became blocked by backpressure.",
        "nest_requests_total": "Requests received.",
        "nest_errors_total": "Requests that were refused.",
        "nest_bytes_in_total": "Bytes received from clients.",
        "nest_bytes_out_total": "Bytes written to clients.",
        "nest_spool_bytes": "Bytes that transfers hold in spool files.",
        "nest_engine_batches_total": "Batches of requests, each at most one commit.",
        "nest_engine_hops_total": "Times that a batch was passed to another thread.",
        "nest_engine_batch_seconds": "Time of a batch on the engine's thread, including the commit.",
        "nest_standby_answers_total": "Handshakes and reads that the standby answered in long turns of the engine.",
        // The engine.
        "nest_revision": "The newest revision.",
        "nest_journal_oldest_revision": "The oldest revision that a client can resume from.",
        "nest_requests_waiting": "Requests for results that wait for their turn.",
        "nest_connections_blocked": "Connections that are blocked by backpressure.",
        "nest_sessions": "Sessions in the store.",
        "nest_subscriptions": "Subscriptions to results.",
        "nest_views": "Different views of live results.",
        "nest_change_subscriptions": "Subscriptions to changes.",
        "nest_live_results": "Live results.",
        "nest_live_result_bytes": "Bytes of all live results, with or without subscribers.",
        "nest_disk_free_bytes": "Free bytes on the store's disk in the last health sample.",
        "nest_disk_short": "1 while the server refuses writes because too little disk space is free.",
        "nest_live_result_rows": "Rows of all live results.",
        "nest_token_scopes": "Sub-trees whose members are kept in memory, for tokens and live results.",
        "nest_token_scope_objects": "Members of all those sub-trees.",
        "nest_token_scope_bytes": "Bytes of memory that the members take.",
        "nest_row_log_bytes": "Bytes of the row logs that diffs are made from.",
        "nest_idempotency_keys": "Idempotency keys that are remembered.",
        "nest_writes_total": "Writes performed.",
        "nest_commits_total": "Commits; each has the writes of one batch.",
        "nest_objects_changed_total": "Objects inserted, updated and deleted.",
        "nest_rows_renumbered_total": "Rows whose position alone was written.",
        "nest_reads_total": "Requests that the engine answered.",
        "nest_diffs_encoded_total": "Diffs encoded, each for all its subscribers.",
        "nest_net_diffs_encoded_total": "Net diffs over several revisions, for lagging subscribers.",
        "nest_snapshots_sent_total": "Snapshots encoded.",
        "nest_change_pages_read_total": "Pages of the journal read for subscriptions to changes.",
        // The process.
        "process_resident_memory_bytes": "Memory in use.",
        "process_open_fds": "Open files and sockets.",
        "process_max_fds": "Files and sockets that may be open.",
        "process_cpu_seconds_total": "Processor time, of user and system.",
        "process_start_time_seconds": "When the process started, in seconds since 1970.",
        "nest_store_free_bytes": "Free bytes on the store's disk.",
    ]
}
