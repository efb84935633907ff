import NestEngine
import NestModel
import NestProtocol
import NestStore
import NestTestSupport

/// A client of a simulated cluster. It sends writes to any node, several at a time, and sends them again, with their
/// keys and to any node, until they are answered for certain. It checks what the cluster promises to one client.
final class ClusterClient {
    struct Write {
        let number: Int
        /// `nil`: it is not sent again unless it was certainly not executed.
        var key: Identifier128?
        var request: EngineRequest
        /// The undo group in which it was sent.
        var run: Int?
        /// The request under way; `nil`: to be sent again.
        var requestID: UInt32?
        var wasSent = false
        /// Whether it was sent before the request under way.
        var isAgain = false
    }

    struct Acknowledged {
        var session: Identifier128
        var request: EngineRequest
        var hasKey: Bool
        var receipt: Receipt
        /// The history in which it was acknowledged.
        var historyID: Identifier128
    }

    /// The writes of an undo group: they are one entry of the undo stack.
    struct Run {
        var begin: UInt32
        var number: UInt64?
        var revisions: [Revision] = []
        var historyID: Identifier128?
        /// Later writes need not be of the group.
        var isOver = false
    }

    let client: SimulatedClient
    /// The node that it is connected to; `nil`: none.
    private(set) var node: SimulatedNode?
    private(set) var writes: [Write] = []
    private(set) var runs: [Run] = []
    private(set) var acknowledged: [Acknowledged] = []
    private(set) var retries = 0
    private(set) var refusals = 0
    private(set) var readCount = 0
    /// The secret hash of each token that it has asked for and that is not revoked yet, with its number.
    private(set) var tokens: [(secret: TokenSecret, number: UInt64?, requestID: UInt32)] = []
    private(set) var revoked: [UInt64] = []
    private var revoking: [UInt32: UInt64] = [:]
    /// The ids that it has reserved and not used in a write, and the requests for more.
    private(set) var reserved: [ObjectID] = []
    private(set) var reservedCount = 0
    private var reserving: Set<UInt32> = []
    /// The reads under way, and the requests that must be answered before them.
    private var reads: [UInt32: (atLeast: Revision, writes: [UInt32])] = [:]
    /// The changed revisions that were acknowledged on this connection, by request.
    private var order: [(requestID: UInt32, revision: Revision)] = []
    /// The highest revision that it has seen in its present history.
    private var highest = Revision(0)

    init(session: Identifier128) {
        self.client = SimulatedClient(session: session, connection: ConnectionID(0))
        self.client.namesOwnRequests = session.low.isMultiple(of: 2)
    }

    var isIdle: Bool { self.writes.isEmpty }
    /// Whether the node owes it an answer.
    var isWaiting: Bool {
        self.node != nil && (self.writes.contains { $0.requestID != nil } || !self.reserving.isEmpty)
    }
    var mustSendAgain: Bool { self.writes.contains { $0.requestID == nil } }
    var isInRun: Bool { self.runs.last.map { !$0.isOver } ?? false }

    // MARK: Connections

    func connect(_ node: SimulatedNode, as id: ConnectionID) throws {
        node.log.trace.append(
            "client \(self.client.session.low) from \(self.node?.index ?? -1) to \(node.index) at \(node.store!.head), "
                + "history \(node.store!.historyID.low), holds "
                + "\(self.client.subscriptions.values.map { $0.state?.revision.rawValue ?? 0 }) of "
                + "\(self.client.historyID?.low ?? 0)"
        )
        if let old = self.node { try old.perform([.disconnected(self.client.connection)]) }
        self.forget()
        self.node = node
        if self.client.historyID != node.store!.historyID {
            self.highest = Revision(0)
            self.reserved = []
        }
        try node.perform([self.client.connect(as: id)] + self.client.resumeAll(atLeast: self.highest))
    }

    /// The node has ended its connections.
    func lose() {
        self.node = nil
        self.forget()
    }

    private func forget() {
        // What has no key, or was of a group, is not sent again: it may have been executed.
        self.writes.removeAll { $0.key == nil && $0.requestID != nil || $0.run != nil }
        for index in self.writes.indices { self.writes[index].requestID = nil }
        if !self.runs.isEmpty { self.runs[self.runs.count - 1].isOver = true }
        (self.reads, self.order, self.revoking, self.reserving) = ([:], [], [:], [])
        self.tokens.removeAll { $0.number == nil }
    }

    // MARK: Requests

    func begin(_ number: Int, key: Identifier128?, _ request: EngineRequest) {
        let run = self.isInRun ? self.runs.count - 1 : nil
        self.writes.append(Write(number: number, key: key, request: request, run: run))
    }

    func beginRun() -> EngineInput {
        let (id, input) = self.client.request(.beginGroup(name: nil, joined: nil))
        self.runs.append(Run(begin: id))
        return input
    }

    func endRun() -> EngineInput {
        self.runs[self.runs.count - 1].isOver = true
        return self.client.request(.endGroup).input
    }

    /// The group may end without an error.
    func forgetRun() {
        guard !self.runs.isEmpty else { return }
        self.runs[self.runs.count - 1].number = nil
        self.end(self.runs.count - 1)
    }

    func createToken(_ secret: TokenSecret) -> EngineInput {
        let grant = TokenGrant(name: "t\(secret.low.low)", role: .admin)
        let (id, input) = self.client.request(.createToken(grant, secretHash: secret))
        self.tokens.append((secret, nil, id))
        return input
    }

    func revokeToken() -> EngineInput? {
        guard let index = self.tokens.firstIndex(where: { $0.number != nil }), let number = self.tokens[index].number
        else { return nil }
        self.tokens.remove(at: index)
        let (id, input) = self.client.request(.revokeToken(number))
        self.revoking[id] = number
        return input
    }

    func reserve(_ count: Int) -> EngineInput {
        let (id, input) = self.client.request(.reserveIDs(count))
        self.reserving.insert(id)
        return input
    }

    /// Returns an insert with a reserved id, if there is one.
    func withReservedID(_ insert: Mutation) -> Mutation {
        guard case .insert(let entity, let values, let placements) = insert, let id = self.reserved.popLast() else {
            return insert
        }
        return .insertAs(id, entity: entity, values: values, placements: placements)
    }

    /// Sends what is to be sent, for the first time or again, and with it `others`. `newKey`: makes another key for
    /// each write that was sent before. `reads`: a read follows. `crashes`: the node ends before its effects leave it.
    func send(
        _ before: [EngineInput] = [],
        newKey: (() -> Identifier128)? = nil,
        reads: Bool,
        then after: [EngineInput] = [],
        crashes: Bool
    ) throws {
        guard let node else { return }
        var inputs = before
        for index in self.writes.indices where self.writes[index].requestID == nil {
            if self.writes[index].wasSent, let newKey {
                let key = newKey()
                self.writes[index].key = key
                self.writes[index].request = self.writes[index].request.keyed(with: key)
            }
            let (id, input) = self.client.request(self.writes[index].request)
            self.writes[index].requestID = id
            self.writes[index].isAgain = self.writes[index].wasSent
            self.writes[index].wasSent = true
            inputs.append(input)
        }
        if reads {
            let fetch = SimulatedClient.children(of: EngineFixture.root)
            let (id, input) = self.client.request(.fetch(fetch, atLeast: self.highest))
            self.reads[id] = (self.highest, self.writes.compactMap(\.requestID))
            inputs.append(input)
        }
        try node.perform(inputs + after, isLast: crashes)
    }

    // MARK: Answers

    /// Takes an effect for the client, and checks what it means to it.
    func take(_ effect: EngineEffect, _ what: String, _ violate: (String) -> Void) throws {
        try self.client.take(effect, what)
        guard case .reply(let id, let requestID, let reply) = effect, id == self.client.connection else { return }
        self.take(reply, requestID) { violate("client \(self.client.session.low): \($0)") }
    }

    private func take(_ reply: EngineReply, _ requestID: UInt32, _ violate: (String) -> Void) {
        if let read = self.reads.removeValue(forKey: requestID) {
            guard case .snapshot(let header, _, _) = reply else { return }
            self.readCount += 1
            let acknowledged = self.order.map(\.revision).max() ?? Revision(0)
            if header.revision < max(read.atLeast, acknowledged) {
                violate("a read at \(header.revision) after \(max(read.atLeast, acknowledged))")
            }
            let open = read.writes.filter { self.client.replies[$0] == nil }
            if !open.isEmpty { violate("the read \(requestID) is answered before the writes \(open)") }
            return
        }
        if let index = self.tokens.firstIndex(where: { $0.requestID == requestID }) {
            guard case .tokenCreated(let number) = reply else { return self.tokens.removeSubrange(index...index) }
            return self.tokens[index].number = number
        }
        if self.reserving.remove(requestID) != nil {
            guard case .reserved(let first, let count) = reply, let log = self.node?.log else { return }
            let ids = (0..<Int64(count)).map { ObjectID(first.rawValue + $0) }
            if log.lossCount == 0, ids.contains(where: log.reserved.contains) {
                violate("ids are reserved twice: \(ids)")
            }
            log.reserved.formUnion(ids)
            self.reserved += ids
            self.reservedCount += count
            return
        }
        if let number = self.revoking.removeValue(forKey: requestID) {
            if case .done = reply { self.revoked.append(number) }
            return
        }
        if let index = self.runs.lastIndex(where: { $0.begin == requestID }) {
            guard case .group(let number) = reply else { return self.runs[index].isOver = true }
            return self.runs[index].number = number
        }
        guard let index = self.writes.firstIndex(where: { $0.requestID == requestID }) else { return }
        self.take(reply, self.writes[index], index, requestID, violate)
    }

    private func take(
        _ reply: EngineReply,
        _ write: Write,
        _ index: Int,
        _ requestID: UInt32,
        _ violate: (String) -> Void
    ) {
        switch reply {
        case .receipt(let receipt):
            self.writes.remove(at: index)
            self.highest = max(self.highest, receipt.revision)
            if let log = self.node?.log, log.lossCount == 0 {
                let others = receipt.insertedIDs.filter { log.reserved.contains($0) && !write.request.names($0) }
                if !others.isEmpty { violate("objects got reserved ids: \(others)") }
            }
            self.acknowledged.append(
                Acknowledged(
                    session: self.client.session,
                    request: write.request,
                    hasKey: write.key != nil,
                    receipt: receipt,
                    historyID: self.node!.store!.historyID
                )
            )
            guard receipt.isChanged, !receipt.isReplayed, !write.isAgain else { return }
            for known in self.order where (known.requestID < requestID) != (known.revision < receipt.revision) {
                violate("requests \(known) and \((requestID, receipt.revision)) were executed in another order")
            }
            self.order.append((requestID, receipt.revision))
            if let run = write.run, !self.runs[run].isOver || self.runs[run].number != nil {
                self.runs[run].historyID = self.node!.store!.historyID
                self.runs[run].revisions.append(receipt.revision)
            }
        case .failure(let error):
            let isCertain = error.code != .storageFailure
            switch error.code {
            case .notLeader, .logUnavailable, .storageFailure, .diskFull:
                self.retries += 1
                if write.run == nil, write.key != nil || isCertain {
                    self.writes[index].requestID = nil
                } else {
                    self.writes.remove(at: index)
                }
            default:
                if error.code == .invalid, self.node?.log.lossCount == 0 { violate("\(error) for \(write)") }
                self.refusals += 1
                self.writes.remove(at: index)
            }
            // The group may be over, or this write is missing in it.
            if let run = write.run { self.end(run) }
        default: self.writes.remove(at: index)
        }
    }

    /// The later writes of a group may be executed by themselves.
    private func end(_ run: Int) {
        self.runs[run].isOver = true
        for index in self.writes.indices where self.writes[index].run == run { self.writes[index].run = nil }
    }
}

extension EngineRequest {
    /// Whether an insert of the write has this id.
    fileprivate func names(_ id: ObjectID) -> Bool {
        guard case .transaction(let transaction, _) = self else { return false }
        return transaction.mutations.contains { if case .insertAs(id, _, _, _) = $0 { true } else { false } }
    }

    /// Returns the same write with another key.
    fileprivate func keyed(with key: Identifier128) -> EngineRequest {
        switch self {
        case .transaction(var transaction, _):
            transaction.key = key
            return .transaction(transaction)
        case .undo: return .undo(key: key)
        default: return self
        }
    }
}
