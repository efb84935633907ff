import NestEngine
import NestModel

/// The connections of other nodes on one event loop, and whose their ports are.
struct LoopPeers {
    private(set) var connections: [ConnectionID: ClientConnection] = [:]
    private var owners: [ConnectionID: ClientConnection] = [:]

    var hasPorts: Bool { !self.owners.isEmpty }

    mutating func add(_ connection: ClientConnection) { self.connections[connection.id] = connection }

    mutating func remove(_ connection: ClientConnection) { self.connections[connection.id] = nil }

    mutating func add(port: ConnectionID, of connection: ClientConnection) { self.owners[port] = connection }

    mutating func remove(port: ConnectionID) { self.owners[port] = nil }

    func owner(of port: ConnectionID) -> ClientConnection? { self.owners[port] }
}

/// Called on the event loop.
extension ConnectionLoop {
    /// Addresses the replies to ports to the connections that have the ports.
    func routed(_ effects: [EngineEffect]) -> [EngineEffect] {
        var routed: [EngineEffect] = []
        routed.reserveCapacity(effects.count)
        for effect in effects {
            switch effect {
            case .reply(let port, let requestID, let reply):
                guard let connection = self.peers.owner(of: port) else { break }
                connection.peer?.ports.answered(requestID, of: port)
                routed.append(.reply(connection.id, requestID: requestID, reply))
                continue
            case .end(let port, let error):
                guard let connection = self.peers.owner(of: port) else { break }
                for request in connection.endPorts(error, where: { $0.connection == port }) {
                    routed.append(.reply(connection.id, requestID: request, .failure(ClientConnection.endedPort)))
                }
                continue
            default: break
            }
            // What else the engine sends to a port finds no connection.
            routed.append(effect)
        }
        return routed
    }

    /// Sends new records to the nodes that follow this one.
    func sendRecords() {
        for connection in self.peers.connections.values where connection.peer?.stream != nil { connection.settle() }
    }
}
