import NestEngine
import NestModel
import NestProtocol

/// The ports of one peer connection: each is a connection of its own to the engine, for one client of the other node.
struct PeerPorts {
    struct Port {
        /// As which the engine knows the port.
        let connection: ConnectionID
        /// The rights of the client.
        let access: Access
        /// Why the port takes no requests; the engine does not know it then.
        var refusal: NestError?
        /// The PEER_OPEN of a port whose token is not known yet.
        var pendingOpen: PeerOpen?
        /// Requests that the engine has, and imports that are arriving.
        var requests: Set<UInt32> = []
    }

    /// Where an import that is arriving comes from.
    struct Origin {
        let port: UInt32
        let group: UInt64
        let isAgain: Bool
    }

    private var ports: [UInt32: Port] = [:]
    private var numbers: [ConnectionID: UInt32] = [:]
    private var imports: [UInt32: Origin] = [:]

    var count: Int { self.ports.count }

    /// The engine's connections.
    var connections: [ConnectionID] { Array(self.numbers.keys) }

    subscript(number: UInt32) -> Port? { self.ports[number] }

    mutating func add(_ port: Port, number: UInt32) {
        self.ports[number] = port
        if port.refusal == nil { self.numbers[port.connection] = number }
    }

    mutating func remove(_ number: UInt32) -> Port? {
        guard let port = self.ports.removeValue(forKey: number) else { return nil }
        self.numbers[port.connection] = nil
        for request in port.requests { self.imports[request] = nil }
        return port
    }

    /// Ends the ports that the engine knows and whose access fails a test, or the one of this connection: they refuse
    /// requests with this error from now on. Returns their ports as they were.
    mutating func refuse(_ error: NestError, where isEnded: (Port) -> Bool) -> [Port] {
        var ended: [Port] = []
        for number in self.numbers.values.sorted() {
            guard let port = self.ports[number], isEnded(port) else { continue }
            ended.append(port)
            self.ports[number]?.refusal = error
            self.ports[number]?.requests = []
            self.numbers[port.connection] = nil
            for request in port.requests { self.imports[request] = nil }
        }
        return ended
    }

    // MARK: Requests

    mutating func begin(_ request: UInt32, port number: UInt32) { self.ports[number]?.requests.insert(request) }

    /// Notes that a request has its reply.
    mutating func answered(_ request: UInt32, of connection: ConnectionID) {
        guard let number = self.numbers[connection] else { return }
        self.ports[number]?.requests.remove(request)
    }

    mutating func beginImport(_ request: UInt32, from origin: Origin) {
        self.imports[request] = origin
        self.begin(request, port: origin.port)
    }

    /// Returns where an import comes from that has arrived or ended; `nil` if it is no import of a port.
    mutating func endImport(_ request: UInt32) -> Origin? {
        guard let origin = self.imports.removeValue(forKey: request) else { return nil }
        self.ports[origin.port]?.requests.remove(request)
        return origin
    }
}

extension MessageType {
    /// Whether a node forwards requests of this type.
    var isForwarded: Bool {
        switch self {
        case .transaction, .undo, .redo, .revert, .beginGroup, .endGroup, .createToken, .revokeToken, .reserve,
            .importSubtree, .putValue:
            true
        default: false
        }
    }
}
