/// What each metric is, for the people who look at it.
package enum MetricHelp {
    package static func text(of name: String) -> String { Self.texts[name] ?? Self.unknown }

    /// Of a metric that is not in the list; a test finds it.
    package static let unknown = "See the source."

    private static let texts = [
        "nest_build_info": "1; its label is the version that runs.",
        "nest_ready": "1 while requests are served, as /readyz says it.",
        "nest_engine_answers":
            "1 when the engine answered this scrape in time; without it its own metrics are left out.",
        // Of the rim, through swift-metrics.
        "nest_connections": "Connections that are served.",
        "nest_connections_total": "Connections that came.",
        "nest_connections_bytes": "Bytes that all connections hold together: received, and waiting to be sent.",
        "nest_connections_rejected_total": "Connections that ended before they were let in.",
        "nest_connections_flooding_total": "Connections that were ended because they asked for nothing too often.",
        "nest_connections_shed_total": "Connections that were ended because all together held too much.",
        "nest_accept_pauses_total": "Times that accepting rested for want of descriptors or memory.",
        "nest_connections_blocked_total": "Times that a connection did not take what was sent to it.",
        "nest_requests_total": "Requests that came.",
        "nest_errors_total": "Requests that were refused.",
        "nest_bytes_in_total": "Bytes received from clients.",
        "nest_bytes_out_total": "Bytes written to clients.",
        "nest_spool_bytes": "Bytes that transfers hold in their files.",
        "nest_engine_batches_total": "Batches of requests, each at most one commit.",
        "nest_engine_hops_total": "Times that a batch went to another thread.",
        "nest_engine_batch_seconds": "Time that a batch took on the engine's thread, commit and all.",
        "nest_standby_answers_total": "Handshakes and reads that were answered beside a long turn of the engine.",
        // Of the engine.
        "nest_revision": "The newest revision.",
        "nest_journal_oldest_revision": "The oldest revision that a client can resume from.",
        "nest_requests_waiting": "Requests for results that wait for their turn.",
        "nest_connections_blocked": "Connections that do not take what is sent to them.",
        "nest_sessions": "Sessions that the store knows.",
        "nest_subscriptions": "Subscriptions to results.",
        "nest_views": "Different views of live results.",
        "nest_change_subscriptions": "Subscriptions to changes.",
        "nest_live_results": "Live results.",
        "nest_live_result_bytes": "Bytes of all live results, followed or not.",
        "nest_disk_free_bytes": "Bytes left on the disk of the store when the engine looked last.",
        "nest_disk_short": "1 while so little room is left that no write is taken.",
        "nest_live_result_rows": "Rows of all live results.",
        "nest_token_scopes": "Sub-trees whose members are held, for tokens and live results.",
        "nest_token_scope_objects": "Members of all those sub-trees.",
        "nest_token_scope_bytes": "Bytes that the members take.",
        "nest_row_log_bytes": "Bytes of the logs that diffs are made of.",
        "nest_idempotency_keys": "Keys of writes that are remembered.",
        "nest_writes_total": "Writes that were carried out.",
        "nest_commits_total": "Commits, each of the writes of a batch.",
        "nest_objects_changed_total": "Objects inserted, updated and deleted.",
        "nest_rows_renumbered_total": "Rows of which only the position was written.",
        "nest_reads_total": "Requests that the engine answered.",
        "nest_diffs_encoded_total": "Diffs encoded, each for all its subscribers.",
        "nest_net_diffs_encoded_total": "Diffs over several revisions, for subscribers that had fallen behind.",
        "nest_snapshots_sent_total": "Snapshots encoded.",
        "nest_change_pages_read_total": "Pages of the journal read for subscriptions to changes.",
        // Of the process.
        "process_resident_memory_bytes": "Memory in use.",
        "process_open_fds": "Open files and sockets.",
        "process_max_fds": "Files and sockets that may be open.",
        "process_cpu_seconds_total": "Processor time, of user and system.",
        "process_start_time_seconds": "When the process began, since 1970.",
        "nest_store_free_bytes": "Bytes left on the disk of the store.",
    ]
}
