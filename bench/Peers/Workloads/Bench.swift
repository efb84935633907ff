import Foundation
import Glibc
import PeerWires
import NestProtocol

/// One run: its peers, and a directory that is removed at the end.
final class Bench {
    let options: PeerOptions
    let interrupt: Interrupt
    let peers: [any Peer]
    private let directory: String
    private var serverCount = 0

    /// Prints which peers are missing. Throws if nest is missing.
    init(_ options: PeerOptions) throws {
        self.options = options
        self.interrupt = try Interrupt()
        Self.raiseDescriptorLimit()
        var template = Array("\(options.directory)/nestpeers-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemFailure("\(options.directory)") }
        self.directory = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        // Servers that run as other users use this directory.
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
            throw PeerRefusal("nestpeers' directory has no nestd; run: swift build -c release --product nestd")
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

    /// Starts a server on an empty store and a load client, sends the requests of `setup`, and runs `measure`.
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
        let site = ServerSite(directory: directory, port: try LoopbackPort.free(), interrupt: self.interrupt)
        let server = try peer.start(site, connections: connections)
        defer { server.stop() }
        try server.waitUntilListening(port: site.port, self.interrupt)
        let trial = Trial(loop: try LoadLoop(self.interrupt), port: site.port, server: server)
        do {
            for request in setup { try trial.ask(request()) }
            return try measure(trial)
        } catch let refusal as PeerRefusal {
            let output = server.lastOutput
            throw output.isEmpty ? refusal : PeerRefusal("\(refusal); it printed: \(output)")
        }
    }
}

/// A running server, and the load client.
struct Trial {
    let loop: LoadLoop
    let port: Int
    let server: ServerProcess

    /// Sends one request on its own connection and waits for the reply.
    func ask(_ wire: any RequestWire) throws {
        let connection = try self.loop.connect(port: self.port, index: 0, wire: wire)
        try self.loop.turn(until: { connection.isReady }, within: 60, "the first connection did not become ready")
        var request: [UInt8] = []
        wire.appendRequest(to: &request)
        // Some wires send everything in their opening.
        var isAnswered = request.isEmpty
        try self.loop.send(connection) { $0 += request }
        try self.loop.turn(until: { isAnswered }, within: 120, "a request was not answered") { other, received in
            if other === connection, received.answers > 0 { isAnswered = true }
        }
        self.loop.close(connection)
    }

    /// Runs `body`, and measures the processor use of the server and of this program.
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

/// The resources of the machine that a measurement used.
struct Effort {
    /// The number of processors that the server kept busy, user and system.
    var serverCores: Double
    /// The same for the load client. It has one thread: near 1 the client is the bottleneck.
    var clientCores: Double
    /// The server's peak memory in bytes.
    var memory: Int
}
