import ArgumentParser

/// The command line's options for a node of a cluster.
struct ClusterOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Serve as a node of a cluster, whose log is in this PostgreSQL database. All nodes have the same URL. Put its \
            password into ~/.pgpass or the file that PGPASSFILE names.
            """,
            valueName: "url"
        )
    )
    var log: String?

    @Option(help: ArgumentHelp("With --log: this node's name. (default: the machine's name)", valueName: "name"))
    var node: String?

    @Option(
        help: ArgumentHelp(
            "With --log: where clients and other nodes reach this node. (default: --host and --port)",
            valueName: "host:port"
        )
    )
    var advertise: String?
}
