import Foundation
import NestClient
import NestModel
import NestTestSupport
import Testing

/// Tests that start processes. They run serially, because they share two slow cores. `make test-unit` leaves them out.
@Suite(.serialized, .timeLimit(.ofProcesses))
enum ProcessTests {}

extension TimeLimitTrait.Duration {
    /// The time limit, extended where an environment variable makes a test long: checking a chaos run takes about as
    /// long as the run, idle clients connect one after the other, and a killed leader takes a few seconds.
    static let ofProcesses: TimeLimitTrait.Duration = {
        let environment = ProcessInfo.processInfo.environment
        func number(_ name: String) -> Int { environment[name].flatMap(Int.init) ?? 0 }
        let minutes =
            number("NEST_CHAOS_SECONDS") * 4 / 60 + number("NEST_IDLE") / 500 + number("NEST_CLUSTER_KILLS") / 6
        return .minutes(10 + minutes)
    }()
}

/// A store in its own temporary directory, and the server process that serves it.
actor ServerProcess {
    let directory = TemporaryDirectory()
    nonisolated let storePath: String
    private(set) var port = 0
    private(set) var process: ChildProcess?

    private let arguments: [String]

    /// `storeName`: the name of the store's file, which need not exist. `arguments`: arguments besides those for store
    /// and port.
    init(storeName: String = "nest.sqlite", arguments: [String] = []) {
        self.arguments = arguments
        self.storePath = "\(self.directory.path)/\(storeName)"
    }

    /// Serves the store of a stopped server on another port.
    init(storeOf other: ServerProcess) {
        self.arguments = []
        self.storePath = other.storePath
    }

    /// `model`: a model in nest's JSON form.
    init(model: String) throws {
        self.storePath = "\(self.directory.path)/nest.sqlite"
        let path = "\(self.directory.path)/model.json"
        self.arguments = ["--model", path]
        try Data(model.utf8).write(to: URL(filePath: path))
    }

    /// Returns a server that listens.
    static func started() async throws -> ServerProcess {
        let server = ServerProcess()
        try await server.start()
        return server
    }

    static func started(model: String) async throws -> ServerProcess {
        let server = try ServerProcess(model: model)
        try await server.start()
        return server
    }

    /// Replaces the model file. The next start serves the new model.
    func replaceModel(_ model: String) throws {
        try Data(model.utf8).write(to: URL(filePath: "\(self.directory.path)/model.json"))
    }

    /// Starts the server, on its previous port if it had one.
    /// `program`, `prefix`: a program that runs the server, and its arguments. `mayDie`: whether the server may be
    /// killed before it listens.
    func start(
        through program: String? = nil,
        _ prefix: [String] = [],
        environment: [String: String] = [:],
        mayDie: Bool = false
    ) async throws {
        for _ in 0..<20 {
            let port = self.port == 0 ? Int.random(in: FreePorts.servers) : self.port
            let own = ["--port", "\(port)", "--store", self.storePath] + self.arguments
            let process = try ChildProcess(
                program.map { "/usr/bin/\($0)" } ?? Program.nestd,
                program == nil ? own : prefix + [Program.nestd] + own,
                environment: environment
            )
            self.process = process
            do {
                let line = try await process.lines(atLeast: 1)[0]
                try #require(line.hasPrefix("nestd listens on 127.0.0.1:\(port), store \(self.storePath), history "))
                self.port = port
                return
            } catch let failure as ProcessFailure {
                if mayDie, await process.poll() == .signal(SIGKILL) {
                    self.port = port
                    return
                }
                // The port is in use: try another one, unless it must be this one.
                guard await process.poll() == .exit(69), self.port == 0 else { throw failure }
            }
        }
        throw ProcessFailure("no free port")
    }

    var address: String { "127.0.0.1:\(self.port)" }

    /// Sends SIGKILL.
    func killNow() async throws {
        try await self.process?.killNow()
    }

    func restart() async throws {
        try await self.killNow()
        try await self.start()
    }

    /// Sends SIGTERM; the server must exit with 0.
    func terminate() async throws {
        await self.process?.send(signal: SIGTERM)
        try await self.process?.wait(forEnd: .exit(0))
    }

    func configuration(session: Identifier128? = nil, requestTimeout: Duration = .seconds(50)) -> ClientConfiguration {
        ClientConfiguration(
            port: self.port,
            clientName: "tests",
            session: session.map { .secret($0) } ?? .fresh,
            connectTimeout: .seconds(30),
            requestTimeout: requestTimeout
        )
    }
}

/// Numbers and requests of the built-in model.
enum Item {
    static let entity = EntityNumber(1)
    static let title = PropertyNumber(1)
    static let parent = PropertyNumber(5)
    static let children = PropertyNumber(6)
    static let root = ObjectID(1)

    static func insert(_ title: String, under owner: ObjectID, _ place: Place = .last) -> Mutation {
        .insert(
            entity: self.entity,
            values: [PropertyAssignment(self.title, .value(.string(title)))],
            placements: [Placement(relationship: self.parent, owner: .object(owner), place: place)]
        )
    }

    static func rename(_ id: ObjectID, _ title: String) -> Mutation {
        .update(.object(id), values: [PropertyAssignment(self.title, .value(.string(title)))])
    }

    static func childrenOf(_ id: ObjectID) -> ObjectFetchRequest {
        ObjectFetchRequest(entity: self.entity, source: FetchSource(object: id, relationship: self.children))
    }
}

extension SectionedSnapshot {
    var rows: [Row] { self.sections.flatMap(\.rows) }

    /// The titles by id. Every id must occur once.
    var titles: [ObjectID: String] {
        let title = self.projection.firstIndex(of: Item.title)
        return Dictionary(
            uniqueKeysWithValues: self.rows.map { row in
                (row.id, title.flatMap { row.values[$0].stringValue } ?? "?")
            }
        )
    }
}
