import NestEngine
import NestModel
import NestProtocol
import NestStore
import NestTestSupport

/// A client of a simulated cluster. It sends one write at a time, and sends it again, with its key and to any node,
/// until it is answered for certain.
final class ClusterClient {
    struct Write {
        let number: Int
        var key: Identifier128
        var request: EngineRequest
        /// The request under way; `nil`: to be sent again.
        var requestID: UInt32?
        var wasSent = false
    }

    /// Whether the write was sent before.
    var isSentBefore: Bool { self.write?.wasSent ?? false }

    struct Acknowledged {
        var session: Identifier128
        var request: EngineRequest
        var receipt: Receipt
        /// The history in which it was acknowledged.
        var historyID: Identifier128
    }

    let client: SimulatedClient
    /// The node that it is connected to; `nil`: none.
    var node: SimulatedNode?
    private(set) var write: Write?
    private(set) var acknowledged: [Acknowledged] = []
    private(set) var retries = 0
    private(set) var refusals = 0

    init(session: Identifier128) {
        self.client = SimulatedClient(session: session, connection: ConnectionID(0))
    }

    func connect(_ node: SimulatedNode, as id: ConnectionID) throws {
        node.log.trace.append(
            "client \(self.client.session.low) from \(self.node?.index ?? -1) to \(node.index) at \(node.store!.head), "
                + "history \(node.store!.historyID.low), holds "
                + "\(self.client.subscriptions.values.map { $0.state?.revision.rawValue ?? 0 }) of "
                + "\(self.client.historyID?.low ?? 0)"
        )
        if let old = self.node { try old.perform([.disconnected(self.client.connection)]) }
        self.node = node
        self.write?.requestID = nil
        try node.perform([self.client.connect(as: id)] + self.client.resumeAll())
    }

    /// The node has ended its connections.
    func lose() {
        self.node = nil
        self.write?.requestID = nil
    }

    func begin(_ number: Int, key: Identifier128, _ request: EngineRequest) {
        self.write = Write(number: number, key: key, request: request)
    }

    /// Sends the write, for the first time or again. `undoes`: an undo without a key follows in the same batch, and
    /// needs a group of its own. `crashes`: the node ends before its effects leave it.
    func send(newKey: Identifier128?, undoes: Bool, crashes: Bool) throws {
        guard var write = self.write, write.requestID == nil, let node else { return }
        if let newKey {
            write.key = newKey
            write.request = write.request.keyed(newKey)
        }
        let (id, input) = self.client.request(write.request)
        write.requestID = id
        write.wasSent = true
        self.write = write
        let undo = undoes ? [self.client.request(.undo(key: nil)).input] : []
        try node.perform([input] + undo, isLast: crashes)
    }

    /// Takes the answer of the write, if there is one.
    func takeAnswer() {
        guard let write, let id = write.requestID, let node, let reply = self.client.replies[id] else { return }
        switch reply {
        case .receipt(let receipt):
            let history = node.engine!.historyID
            self.acknowledged.append(
                Acknowledged(
                    session: self.client.session,
                    request: write.request,
                    receipt: receipt,
                    historyID: history
                )
            )
            self.write = nil
        case .failure(let error):
            switch error.code {
            case .notLeader, .logUnavailable, .storageFailure, .diskFull:
                self.write?.requestID = nil
                self.retries += 1
            default:
                self.refusals += 1
                self.write = nil
            }
        default: self.write = nil
        }
    }
}

extension EngineRequest {
    /// Returns the same write with another key.
    fileprivate func keyed(_ key: Identifier128) -> EngineRequest {
        switch self {
        case .transaction(var transaction, _):
            transaction.key = key
            return .transaction(transaction)
        case .undo: return .undo(key: key)
        default: return self
        }
    }
}
