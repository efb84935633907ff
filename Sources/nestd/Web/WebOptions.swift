import ArgumentParser

/// The command line's options for browsers.
struct WebOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Also serve browsers at this address: the page, which shows and changes the store, and WebSocket at /nest. \
            A port of 0 is any free port. docs/web.md has the rest.
            """,
            valueName: "host:port"
        )
    )
    var web: String?

    @Option(
        help: ArgumentHelp(
            "With --web: serve the files of this directory, but none whose name begins with a dot.",
            valueName: "directory"
        )
    )
    var webRoot: String?

    @Flag(
        inversion: .prefixedNo,
        help: "With --web: serve the page. (default: --web-page, or with --web-root --no-web-page)"
    )
    var webPage: Bool?

    @Option(
        help: ArgumentHelp(
            """
            With --web: a name under which browsers reach this server, besides localhost and its address. Repeat it for \
            more.
            """,
            valueName: "name"
        )
    )
    var webName: [String] = []

    @Option(
        help: ArgumentHelp(
            "With --web: pages from this origin may connect too, such as http://localhost:3000. Repeat it for more.",
            valueName: "origin"
        )
    )
    var webOrigin: [String] = []
}
