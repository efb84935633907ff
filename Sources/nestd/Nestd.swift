import ArgumentParser
import Glibc
import Logging
import NestModel
import NestModelFiles
import NestServer
import NestStore
import ServiceLifecycle
import UnixSignals

/// The server: flags in, one service group, an exit code out.
struct Nestd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nestd",
        abstract: "Serves a live object graph over TCP.",
        discussion: """
            The store is one SQLite file, created when it is missing. While nestd runs nobody else may open it: a lock \
            file beside it (the store's name with .lock) says who has it.

            Examples:
              nestd                                   serve nest.sqlite on 127.0.0.1:7000
              nestd --port 7100 --store notes.sqlite
              nestd --memory --port 0                 a store for this run only
              nestd --model Shop.xcdatamodeld         objects of your own kinds; 'nestc model check' judges a model
              nestd token create me > me.token        the first token; from then on nobody gets in without one
              nestd --host 0.0.0.0 --tls-cert nest.crt --tls-key nest.key
              nestd --host 0.0.0.0 --insecure         for everyone who can connect
              nestd --check --store notes.sqlite      look at all of it; 'nestc check' does it while it is served

            On this machine, and without tokens in the store, everybody who can connect may do everything. An address that others
            can reach needs TLS, and a token from each client (or, with --tls-client-ca, a certificate), or --insecure.

            SIGTERM or Ctrl-C stops it: clients are told, what is in flight is finished, exit status 0. SIGHUP has it read
            certificate and key again.

            Exit status: 64 usage, 65 the store is damaged or not one of nest, 69 the port is in use, 74 reading or \
            writing failed, 75 another nestd has the store, 78 configuration: also a store that may not be opened or is \
            of another version.
            """,
        version: Self.versionText
    )

    @Option(help: "The port to listen on; 0 for any free one.")
    var port: UInt16 = 7000

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"

    @Option(help: ArgumentHelp("The SQLite file that holds the objects. (default: nest.sqlite)", valueName: "file"))
    var store: String?

    @Flag(help: "Keep the store in memory, for this run only.")
    var memory = false

    @Option(
        help: ArgumentHelp(
            "The model of the objects: an .xcdatamodeld, .xcdatamodel, 'contents' or JSON file. Default: the nested list.",
            valueName: "path"
        )
    )
    var model: String?

    @Option(
        help: ArgumentHelp(
            "No write is taken while fewer MiB are left on the disk of the store; reading goes on.",
            valueName: "MiB"
        )
    )
    var minFree = Limits.diskFreeBytesMin >> 20

    @Option(help: ArgumentHelp("The least severe messages to log.", valueName: "level"))
    var logLevel = Logger.Level.info

    @Flag(help: "Check the store, which nobody may serve meanwhile, print what is wrong with it, and end.")
    var check = false

    @OptionGroup var security: SecurityOptions

    @Flag(help: "Print every limit of the server and of the protocol, and end.")
    var printLimits = false

    @Flag(help: "With --print-limits: one JSON object a line.")
    var json = false

    func validate() throws {
        guard !(self.memory && self.store != nil) else {
            throw ValidationError("--memory and --store exclude each other")
        }
        guard (0...1 << 40).contains(self.minFree) else { throw ValidationError("--min-free is a number of MiB") }
        guard !(self.memory && self.check) else { throw ValidationError("--check is of a store in a file") }
        guard self.store != "" else { throw ValidationError("--store needs the name of a file") }
        guard !self.json || self.printLimits else { throw ValidationError("--json goes with --print-limits") }
        guard self.model != "" else { throw ValidationError("--model needs the name of a file") }
    }

    func run() async throws {
        if self.check { return try self.checkStore(self.storePath) }
        if self.printLimits { return print(self.json ? try Self.limitsJSON() : Self.limitsText()) }
        try self.security.check(host: self.host)
        // A reader that goes away must not end the server: writing to it fails instead.
        signal(SIGPIPE, SIG_IGN)
        // Until `HangUpService` takes it, it does nothing.
        signal(SIGHUP, SIG_IGN)
        LoggingSystem.bootstrap { label in StreamLogHandler.standardError(label: label) }
        var logger = Logger(label: "nestd")
        logger.logLevel = self.logLevel
        Self.logSQLiteVersion(logger)

        let location = self.location
        if case .file(let path) = location {
            // Unless the user wants them elsewhere, SQLite's temporary files are on the disk of the store.
            setenv("SQLITE_TMPDIR", Store.directory(of: path), 0)
        }
        let model = try self.readModel(logger)
        var configuration = ServerConfiguration(
            host: self.host,
            port: Int(self.port),
            store: Store.Configuration(location: location, model: model),
            serverName: "nestd \(ServerVersion.nest)"
        )
        configuration.diskFreeBytesMin = self.minFree << 20
        configuration.tls = try self.security.serverTLS()
        configuration.authentication = self.security.policy(host: self.host)
        let server = Server(configuration, logger: logger) { listening in
            print(
                "nestd listens on \(self.host):\(listening.port), store \(location.description), "
                    + "history \(listening.historyID), revision \(listening.revision)"
            )
            fflush(nil)
        }
        let service = ServiceGroupConfiguration.ServiceConfiguration(
            service: server,
            successTerminationBehavior: .gracefullyShutdownGroup
        )
        let hangUp = ServiceGroupConfiguration.ServiceConfiguration(service: HangUpService(server: server))
        var groupLogger = logger
        groupLogger.logLevel = max(.warning, self.logLevel)
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [service, hangUp],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: groupLogger
            )
        )
        do {
            try await group.run()
        } catch let error as ServerError {
            throw Self.failure(error.exitStatus, "\(error)")
        }
    }

    private var location: Store.Configuration.Location {
        self.memory ? .memory : .file(self.storePath)
    }

    private var storePath: String { Self.path(ofStore: self.store ?? "nest.sqlite") }

    /// SQLite would read "file:…?mode=…" as a URI; with a directory before it, it is a name like any other.
    static func path(ofStore name: String) -> String {
        name.hasPrefix("file:") ? "./" + name : name
    }

    static func failure(_ status: Int32, _ message: String) -> any Error {
        self.tell(message)
        return ExitCode(status)
    }
}
