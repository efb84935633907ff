import Foundation
import Glibc
import PeerWires
import NestProtocol

/// One run: the peers that take part, and a directory that is removed at its end.
final class Bench {
    let options: PeerOptions
    let interrupt: Interrupt
    let peers: [any Peer]
    private let directory: String
    private var serverCount = 0

    /// Says which peers are missing. nest must be there.
    init(_ options: PeerOptions) throws {
        self.options = options
        self.interrupt = try Interrupt()
        Self.raiseDescriptorLimit()
        var template = Array("\(options.directory)/nestpeers-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemFailure("\(options.directory)") }
        self.directory = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        // Others than root have servers here.
        chmod(self.directory, 0o755)
        do {
            self.peers = try Self.find(options, self.directory)
        } catch {
            try? FileManager.default.removeItem(atPath: self.directory)
            throw error
        }
    }

    func end() {
        Progress.clear()
        try? FileManager.default.removeItem(atPath: self.directory)
    }

    private static func find(_ options: PeerOptions, _ directory: String) throws -> [any Peer] {
        guard let nest = NestPeer() else {
            throw PeerRefusal("there is no nestd beside nestpeers: swift build -c release --product nestd")
        }
        var peers: [any Peer] = [nest]
        for choice in options.peers {
            let peer: (any Peer)? =
                switch choice {
                case .redis: RedisPeer()
                case .nats: NATSPeer(hasConsumers: true)
                case .natsCore: NATSPeer(hasConsumers: false)
                case .etcd: EtcdPeer()
                case .postgresql: try PostgresPeer(directory: directory)
                case .grpc: GRPCPeer(program: options.grpcEcho ?? Program.beside("../../grpc/release/grpcecho"))
                }
            if let peer { peers.append(peer) } else { Progress.say("skipped: \(choice.rawValue) is not installed") }
        }
        return peers
    }

    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// A server on an empty store, a load client, and what both took of the machine while `measure` ran.
    func withServer<Result>(
        _ peer: any Peer,
        connections: Int,
        setup: [() -> any RequestWire],
        _ measure: (Trial) throws -> Result
    ) throws -> Result {
        self.serverCount += 1
        let directory = "\(self.directory)/\(self.serverCount)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let place = ServerPlace(directory: directory, port: try LoopbackPort.free(), interrupt: self.interrupt)
        let server = try peer.start(place, connections: connections)
        defer { server.stop() }
        try server.waitUntilListening(port: place.port, self.interrupt)
        let trial = Trial(loop: try LoadLoop(self.interrupt), port: place.port, server: server)
        do {
            for request in setup { try trial.ask(request()) }
            return try measure(trial)
        } catch let refusal as PeerRefusal {
            let said = server.said
            throw said.isEmpty ? refusal : PeerRefusal("\(refusal); it says: \(said)")
        }
    }
}

/// A server that runs, and the load client.
struct Trial {
    let loop: LoadLoop
    let port: Int
    let server: ServerProcess

    /// One request, answered, on a connection of its own.
    func ask(_ wire: any RequestWire) throws {
        let connection = try self.loop.connect(port: self.port, index: 0, wire: wire)
        try self.loop.turn(until: { connection.isReady }, within: 60, "the first connection did not become ready")
        var request: [UInt8] = []
        wire.appendRequest(to: &request)
        // Some have all their say in what opens the connection.
        var isAnswered = request.isEmpty
        try self.loop.send(connection) { $0 += request }
        try self.loop.turn(until: { isAnswered }, within: 120, "a request was not answered") { other, received in
            if other === connection, received.answers > 0 { isAnswered = true }
        }
        self.loop.close(connection)
    }

    /// What the server and this program take of the processors while something runs.
    func effort<Result>(_ body: () throws -> Result) throws -> (Result, Effort) {
        let tree = ProcessTree(root: self.server.process)
        let (server, client, start) = (tree.processorSeconds, ownProcessorSeconds(), monotonicTime())
        let result = try body()
        let time = seconds(since: start)
        let clientSeconds = ownProcessorSeconds() - client
        return (
            result,
            Effort(
                serverCores: (tree.processorSeconds - server) / time,
                clientCores: clientSeconds / time,
                memory: tree.memory
            )
        )
    }
}

/// What a measurement took of the machine.
struct Effort {
    /// Processors that the server kept busy, user and system.
    var serverCores: Double
    /// The same of the load client, which has one thread: at 1 it is what limits.
    var clientCores: Double
    /// Bytes of the server at its peak.
    var memory: Int
}
