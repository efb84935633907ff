import NestEngine
import NestModel
import Testing

/// A client of the engine without a socket: applies what it is sent, checks what it holds.
final class SimulatedClient {
    let session: Identifier128
    private(set) var connection: ConnectionID
    private var nextRequest: UInt32 = 1
    private(set) var historyID: Identifier128?

    /// What a subscription asks for; a projection of all properties when none is named.
    struct Key: Hashable {
        var parent: ObjectID
        var projection: [PropertyNumber] = []
    }

    struct Subscription {
        let parent: ObjectID
        var view: UInt32?
        var state: SectionedSnapshot?
        /// A snapshot whose rows are still coming.
        var projection: [PropertyNumber] = []
    }

    var subscriptions: [Key: Subscription] = [:]
    /// Effects that wait because the connection does not drain.
    private(set) var isBlocked = false
    private(set) var replies: [UInt32: EngineReply] = [:]
    private var pendingSubscriptions: [UInt32: Key] = [:]
    /// The highest revision named by a receipt, for which the subscriptions must already be up to date.
    private(set) var acknowledged = Revision(0)
    var progress = Revision(0)

    init(session: Identifier128, connection: ConnectionID) {
        self.session = session
        self.connection = connection
    }

    func connect(as connection: ConnectionID) -> EngineInput {
        self.connection = connection
        self.isBlocked = false
        self.replies = [:]
        self.pendingSubscriptions = [:]
        // View ids mean nothing on another connection.
        for parent in self.subscriptions.keys { self.subscriptions[parent]!.view = nil }
        return .connected(connection, session: self.session, scope: .everything)
    }

    func request(_ request: EngineRequest) -> (id: UInt32, input: EngineInput) {
        defer { self.nextRequest += 1 }
        return (self.nextRequest, .request(self.connection, requestID: self.nextRequest, request))
    }

    func state(_ parent: ObjectID) -> SectionedSnapshot? { self.subscriptions[Key(parent: parent)]?.state }

    /// Subscribes again to all that it holds, from where it is.
    func resumeAll() -> [EngineInput] {
        self.subscriptions.keys.sorted { ($0.parent, $0.projection.count) < ($1.parent, $1.projection.count) }
            .map { self.subscribe($0.parent, $0.projection, resuming: true) }
    }

    func subscribe(_ parent: ObjectID, _ projection: [PropertyNumber] = [], resuming: Bool = false) -> EngineInput {
        let fetch = FetchRequest(
            entity: EntityNumber(1),
            source: FetchSource(object: parent, relationship: PropertyNumber(6)),
            projection: projection
        )
        let key = Key(parent: parent, projection: projection)
        var point: ResumePoint?
        if resuming, let held = self.subscriptions[key]?.state, let historyID {
            point = ResumePoint(historyID: historyID, revision: held.revision)
        } else {
            self.subscriptions[key] = Subscription(parent: parent)
        }
        let (id, input) = self.request(.subscribe(fetch, resume: point, atLeast: Revision(0)))
        self.pendingSubscriptions[id] = key
        return input
    }

    func block() -> EngineInput {
        self.isBlocked = true
        return .blocked(self.connection)
    }

    func drain() -> EngineInput {
        self.isBlocked = false
        return .drained(self.connection)
    }

    // MARK: Effects

    func take(_ effect: EngineEffect, _ what: String) throws {
        switch effect {
        case .welcome(let id, let welcome):
            if id == self.connection { self.historyID = welcome.historyID }
        case .reply(let id, let requestID, let reply):
            guard id == self.connection else { return }
            try self.take(reply, requestID, what)
        case .push(let push, let to):
            guard to.contains(self.connection) else { return }
            try self.take(push, what)
        case .progress(let revision, let to):
            guard to.contains(self.connection) else { return }
            self.progress = revision
            for parent in self.subscriptions.keys where self.subscriptions[parent]!.view != nil {
                let held = self.subscriptions[parent]!.state!.revision
                self.subscriptions[parent]!.state!.revision = max(held, revision)
            }
        }
    }

    private func take(_ reply: EngineReply, _ requestID: UInt32, _ what: String) throws {
        #expect(self.replies[requestID] == nil, "\(what): two replies to request \(requestID)")
        self.replies[requestID] = reply
        switch reply {
        case .receipt(let receipt):
            self.acknowledged = max(self.acknowledged, receipt.revision)
        case .subscribed(let view, let first, _, let projection):
            let pending = self.pendingSubscriptions.removeValue(forKey: requestID)
            let parent = try #require(pending)
            self.subscriptions[parent]!.view = view
            self.subscriptions[parent]!.projection = projection
            if case .current(let revision) = first { self.subscriptions[parent]!.state!.revision = revision }
            if case .snapshot = first { self.subscriptions[parent]!.state = nil }
        case .failure:
            if let parent = self.pendingSubscriptions.removeValue(forKey: requestID) {
                self.subscriptions[parent] = nil
            }
        default:
            break
        }
    }

    private func take(_ push: EnginePush, _ what: String) throws {
        let known = self.subscriptions.first { $0.value.view == push.view }?.key
        let parent = try #require(known, "\(what): a push for an unknown view")
        let count = self.subscriptions[parent]!.projection.count
        switch push.content {
        case .diff(let body):
            let diff = try ByteReader.read(body) { (reader) throws(DecodingFailure) in
                let diff = try reader.diff(valueCount: count)
                try reader.finish("diff")
                return diff
            }
            #expect(!diff.isEmpty, "\(what): an empty diff")
            let held = self.subscriptions[parent]!.state
            var state = try #require(held, "\(what): a diff before the snapshot")
            self.checkUpdates(diff, state, what)
            do {
                try state.apply(diff)
            } catch {
                Issue.record("\(what): \(error) applying \(diff)")
            }
            #expect(state.digest == diff.digest, "\(what): the digest after a diff")
            self.subscriptions[parent]!.state = state
        case .snapshot(let header, let bodies):
            var rows: [Row] = []
            for body in bodies {
                rows += try ByteReader.read(body) { (reader) throws(DecodingFailure) in
                    try reader.rows(valueCount: count)
                }
            }
            #expect(rows.count == header.total && header.sections.count == 1, "\(what): a snapshot's rows")
            let state = SectionedSnapshot(
                revision: header.revision,
                projection: self.subscriptions[parent]!.projection,
                sections: [Section(key: header.sections[0].key, rows: rows)]
            )
            #expect(state.digest == header.digest, "\(what): the digest of a snapshot")
            self.subscriptions[parent]!.state = state
        case .end(let code, let message):
            Issue.record("\(what): subscription ended: \(code) \(message)")
        }
    }

    /// No update whose values did not change.
    private func checkUpdates(_ diff: ResultsDiff, _ state: SectionedSnapshot, _ what: String) {
        var before: [ObjectID: Row] = [:]
        for row in state.sections[0].rows { before[row.id] = row }
        var after = state
        guard (try? after.apply(diff)) != nil else { return }
        for update in diff.updates {
            let id = after[update.path].id
            for (property, value) in update.values {
                let slot = state.projection.firstIndex(of: property)!
                #expect(before[id]?.values[slot] != value, "\(what): an update that changes nothing")
            }
        }
    }
}
