import ArgumentParser
import Glibc
import Logging
import NestModel
import NestOperations
import NestServer
import NestStore
import ServiceLifecycle
import UnixSignals
import NestProtocol

/// The command `nestd`: reads flags, runs one service group, and ends with an exit status.
struct Nestd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nestd",
        abstract: "Serves a live object graph over TCP.",
        discussion: """
            The store is one SQLite file, created when it is missing. While nestd runs, no other program may open it: \
            a lock file beside it (the store's name with .lock) states which process has it.

            Examples:
              nestd                                   serve nest.sqlite on 127.0.0.1:7000
              nestd --port 7100 --store notes.sqlite
              nestd --memory --port 0                 a store for this run only
              nestd --model Shop.xcdatamodeld         objects of your own model
              nestd migrate --model Shop2.xcdatamodeld --dry-run
              nestd adopt Shop.sqlite --model Shop.xcdatamodeld --dry-run
              nestd token create me > me.token        now clients need a token
              nestd --host 0.0.0.0 --tls-cert nest.crt --tls-key nest.key
              nestd --host 0.0.0.0 --insecure         open to every client that can connect
              nestd --web 127.0.0.1:7080              serve browsers too
              nestd --check --store notes.sqlite      check the whole store
              nestd --config /etc/nest/nestd.json --check-config
              nestd cluster init --log postgres://db.example/nest --store nest.sqlite
              nestd --log postgres://db.example/nest --node a --advertise a.example:7000

            The environment (NESTD_LOG_LEVEL) and a file ({"log": {"level": …}}) can specify the same settings as \
            flags. Flags take precedence over the environment, and the environment over the file.

            On a loopback address, and without tokens in the store, every client is an administrator. An address that \
            other machines can reach needs TLS and a token from each client (or, with --tls-client-ca, a \
            certificate), or --insecure.

            With --log several nestd serve one store: one leads and takes the writes, the others follow it, and another \
            takes over when it fails. The objects are in the log, and --store is this node's copy of them. \
            'nestd cluster --help' has the rest.

            SIGTERM or Ctrl-C stops nestd: it notifies the clients, finishes requests in flight, and exits with 0. \
            SIGHUP makes it read the configuration, certificate and key again.

            Exit status: 64 usage, 65 the store is damaged or not a nest store, 69 the port is in use, 74 reading or \
            writing failed, 75 another nestd has the store open, 78 the configuration is wrong, or the store cannot be \
            opened or has another version.
            """,
        version: Self.versionText
    )

    @Option(help: "The port to listen on; 0 for any free port. (default: 7000)")
    var port: UInt16?

    @Option(help: "The address to listen on. (default: 127.0.0.1)")
    var host: String?

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
            "Refuse writes while fewer MiB are free on the store's disk; reads continue. (default: 64)",
            valueName: "MiB"
        )
    )
    var minFree: Int?

    @Option(help: ArgumentHelp("The lowest severity of messages to log. (default: info)", valueName: "level"))
    var logLevel: Logger.Level?

    @Option(help: "The format of the log: \(LogFormat.allValueStrings.joined(separator: " or ")). (default: text)")
    var logFormat: LogFormat?

    @Option(
        help: ArgumentHelp(
            "Serve /metrics, /livez and /readyz over HTTP on this port of 127.0.0.1; 0 for any free port.",
            valueName: "port"
        )
    )
    var metricsPort: UInt16?

    @Option(
        help: ArgumentHelp(
            "Read settings from this JSON file; flags and NESTD_… variables take precedence.",
            valueName: "file"
        )
    )
    var config: String?

    @Flag(help: "Check the configuration, print its faults, and exit: 0 if it is valid, 78 if not.")
    var checkConfig = false

    @Flag(help: "Print the configuration in force as a configuration file, and exit.")
    var printConfig = false

    @Flag(help: "Check the store, which no nestd may have open, print its problems, and exit.")
    var check = false

    @OptionGroup var security: SecurityOptions

    @OptionGroup var cluster: ClusterOptions

    @OptionGroup var web: WebOptions

    @Flag(help: "Print every limit of the server and of the protocol, and exit.")
    var printLimits = false

    @Flag(help: "With --print-limits: one JSON object a line.")
    var json = false

    func validate() throws {
        guard !(self.memory && self.store != nil) else {
            throw ValidationError("--memory and --store exclude each other")
        }
        guard (0...Setting.minFreeMax).contains(self.minFree ?? 0) else {
            throw ValidationError("--min-free must be a number of MiB from 0 to \(Setting.minFreeMax)")
        }
        guard !(self.memory && self.check) else {
            throw ValidationError("--check needs a store in a file, not in memory")
        }
        guard self.store != "" else { throw ValidationError("--store needs the name of a file") }
        guard !self.json || self.printLimits else {
            throw ValidationError("--json can only be used with --print-limits")
        }
        guard self.model != "" else { throw ValidationError("--model needs the name of a file") }
        guard self.web.web != "" else { throw ValidationError("--web needs a host and a port") }
        guard self.web.webRoot != "" else { throw ValidationError("--web-root needs the name of a directory") }
        guard self.config != "" else { throw ValidationError("--config needs the name of a file") }
        guard self.cluster.log != "" else {
            throw ValidationError("--log needs a URL, such as postgres://db.example/nest")
        }
        guard self.cluster.node != "" else { throw ValidationError("--node needs a name") }
        guard self.cluster.advertise != "" else { throw ValidationError("--advertise needs a host and a port") }
    }

    func run() async throws {
        if self.printLimits { return print(self.json ? try Self.limitsJSON() : Self.limitsText()) }
        let settings = try self.readSettings()
        if self.check {
            guard let path = settings.storePath else {
                throw Self.failure(64, "--check needs a store in a file, not in memory")
            }
            return try self.checkStore(path)
        }
        if self.printConfig { return print(settings.json) }
        // A reader that closes its end must not end the server: writing to it must fail instead.
        signal(SIGPIPE, SIG_IGN)
        // Ignore SIGHUP until the configuration can be read again.
        signal(SIGHUP, SIG_IGN)
        let operations = Operations(settings)
        let logger = Logger(label: "nestd")
        let model = try Self.readModel(settings.text(.model), logger)
        let cluster = ClusterSettings(settings)
        if self.checkConfig {
            _ = try Security(settings).serverTLS()
            return print("the configuration is good")
        }
        Self.logSQLiteVersion(logger)
        try await self.serve(settings, model, cluster, operations, logger)
    }

    private func serve(
        _ settings: ServiceSettings,
        _ model: ManagedObjectModel,
        _ cluster: ClusterSettings?,
        _ operations: Operations,
        _ logger: Logger
    ) async throws {
        let location = settings.location
        if case .file(let path) = location {
            // SQLite's temporary files are on the store's disk, unless the user specifies another directory.
            setenv("SQLITE_TMPDIR", Store.directory(of: path), 0)
        }
        // All have a default, so none is missing.
        let host = settings.text(.host)!
        var port = settings.integer(.port)!
        // A node registers its address before it listens.
        if port == 0, cluster != nil { port = try Self.freePort(host) }
        var store = Store.Configuration(location: location, model: model)
        store.keepsAppliedModel = true
        // Without --model the nested list is not what the user wants in place of another model.
        if settings.text(.model) == nil { store.removals = .none }
        var configuration = ServerConfiguration(
            host: host,
            port: port,
            store: store,
            serverName: "nestd \(ServerVersion.nest)"
        )
        configuration.connectionsMax = settings.liveLimits.connectionsMax
        configuration.outputBytesMax = settings.liveLimits.outputBytesMax
        configuration.spoolBytesMax = settings.liveLimits.spoolBytesMax
        configuration.memoryBytesMax = settings.integer(.memoryBytesMax)!
        configuration.diskFreeBytesMin = settings.integer(.minFree)! << 20
        configuration.largeValueBytesMax = settings.integer(.valueBytesMax)!
        configuration.writeStepsMax = settings.integer(.writeStepsMax)!
        configuration.confinedWriteStepsMax = settings.integer(.confinedWriteStepsMax)!
        configuration.web = WebSettings(settings)?.configuration
        if let cluster {
            configuration.replica = cluster.replica(
                host: host,
                port: port,
                model: settings.text(.model).map { _ in model },
                onWaiting: { operations.waiting($0) }
            )
        }
        let security = Security(settings)
        configuration.tls = try security.serverTLS()
        if cluster != nil {
            configuration.replica?.tls = try security.peerTLS()
            configuration.replica?.sendsSecretInClear = settings.isOn(.insecure)
        }
        configuration.authentication = security.policy
        let status = "serving \(location.description)"
        // A node may wait for its log for long: the service manager must not take that for a failed start.
        if cluster != nil { operations.notifier?.send(.ready(status: "waiting for the log")) }
        let node = cluster.map { ", node \($0.node)" } ?? ""
        let server = Server(configuration, logger: logger) { [configuration] listening in
            print(
                "nestd listens on \(host.contains(":") ? "[\(host)]" : host):\(listening.port), store \(location.description), "
                    + "history \(listening.historyID), revision \(listening.revision)\(node)"
            )
            if let web = configuration.web, let port = listening.webPort {
                let url = WebSettings.url(host: web.host, port: port, isEncrypted: configuration.tls != nil)
                print("nestd serves \(web.page == nil ? "browsers" : "its page to browsers") at \(url)")
            }
            fflush(nil)
            operations.ready(status: status)
        } onStopping: { failure in
            operations.stopping(failure: failure.map { "\($0)" })
        }
        let reloader = Reloader(settings, steps: operations.reloadSteps(server), logger: logger) {
            try self.settings()
        }
        let otherServices: [any Service]
        do {
            otherServices = try await operations.services(
                server,
                port: settings.integer(.metricsPort),
                reloader: reloader,
                status: status
            )
        } catch {
            let port = settings.integer(.metricsPort) ?? 0
            throw Self.failure(
                69,
                "cannot listen on port \(port) for metrics: \(LogText.reason(error)); specify another --metrics-port"
            )
        }
        let serverService = ServiceGroupConfiguration.ServiceConfiguration(
            service: server,
            successTerminationBehavior: .gracefullyShutdownGroup
        )
        var groupLogger = logger
        groupLogger.logLevel = .warning
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                // The services start in this order and stop in the reverse order.
                services: otherServices.map { .init(service: $0) } + [serverService],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: groupLogger
            )
        )
        do {
            try await group.run()
        } catch let error as ServerError {
            let advice = Self.advice(error, settings)
            throw Self.failure(error.exitStatus, "\(error)\(advice)")
        }
    }

    /// Returns the most likely cause of an error, or the next step.
    private static func advice(_ error: ServerError, _ settings: ServiceSettings) -> String {
        guard case .store(.modelDiffers(_, _, let losses)) = error else { return "" }
        guard let model = settings.text(.model) else {
            return ". No model is specified, so it is the nested list: specify another with --model FILE"
        }
        let command = "nestd migrate --store \(settings.text(.store) ?? "") --model \(model)"
        return ". To list all changes: \(command) --dry-run"
            + (losses.isEmpty ? "" : ". To lose this data, after a copy of the store: \(command) --allow-loss")
    }

    /// Returns a port on which nothing listens now.
    private static func freePort(_ host: String) throws -> Int {
        guard let port = FreePort.find(host) else { throw Self.failure(69, "there is no free port on \(host)") }
        return port
    }

    /// Returns the path of a store. SQLite would read "file:…?mode=…" as a URI; with a directory before it, it is a
    /// name like any other.
    static func path(ofStore name: String) -> String {
        name.hasPrefix("file:") ? "./" + name : name
    }

    static func failure(_ status: Int32, _ message: String) -> any Error {
        self.printMessage(message)
        return ExitCode(status)
    }
}
