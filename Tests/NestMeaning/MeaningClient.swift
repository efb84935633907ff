import NestProtocol
import NestEngine
import NestModel
import NestTestSupport

/// A client that applies what it receives to its state, and counts its answers.
final class MeaningClient {
    /// A subscription, or several equal ones.
    struct Held {
        var request: ObjectFetchRequest
        var projection: [PropertyNumber]
        /// `nil` until the snapshot arrives.
        var state: SectionedSnapshot?
        /// Whether the client resumed from a state that it never had.
        var isBlind = false
        /// Whether the client named a resume point. The server then accepts an owner that it cannot find.
        var hasResumed = false
        var count = 1
    }

    enum Asked {
        case other
        case subscription(ObjectFetchRequest, resumed: SectionedSnapshot?, isBlind: Bool)
        case change(view: UInt32, ObjectFetchRequest)
        case end(view: UInt32)
        case changes
    }

    let session: Identifier128
    let scope: AuthorisationScope
    private(set) var connection = ConnectionID(0)
    private var lastRequest: UInt32 = 0
    private(set) var asked: [UInt32: Asked] = [:]
    private(set) var held: [UInt32: Held] = [:]
    private(set) var changeViews: Set<UInt32> = []
    /// The clients that are present in each scope of which this client got the whole state.
    private var present: [ObjectID: Set<UInt64>] = [:]
    var isBlocked = false
    /// Whether the engine waits until the client has drained.
    var awaitsDrain = false
    /// Whether the engine has ended the connection.
    private(set) var isEnded = false
    private(set) var refusals: [ErrorCode: Int] = [:]
    private(set) var diffs = 0
    private(set) var replies = 0

    init(session: Identifier128, scope: AuthorisationScope) {
        self.session = session
        self.scope = scope
    }

    func connect(as connection: ConnectionID) -> EngineInput {
        self.connection = connection
        (self.asked, self.held, self.changeViews) = ([:], [:], [])
        (self.isBlocked, self.awaitsDrain, self.isEnded) = (false, false, false)
        self.present = [:]
        return .connected(connection, session: self.session, scope: self.scope)
    }

    func request(_ request: EngineRequest, _ asked: Asked) -> EngineInput {
        self.lastRequest += 1
        self.asked[self.lastRequest] = asked
        return .request(self.connection, requestID: self.lastRequest, request)
    }

    // MARK: Received messages

    func take(_ reply: EngineReply, _ requestID: UInt32) throws {
        guard let asked = self.asked.removeValue(forKey: requestID) else {
            throw MeaningFailure("a second answer to request \(requestID): \(reply)")
        }
        self.replies += 1
        if case .failure(let error) = reply {
            try MeaningFailure.unless(error.code != .internalError, "\(error)")
            self.refusals[error.code, default: 0] += 1
            return
        }
        switch (asked, reply) {
        case (
            .subscription(let request, let resumed, let isBlind), .subscribed(let view, let first, _, let projection)
        ):
            if first == .alreadySubscribed {
                try MeaningFailure.unless(self.held[view] != nil, "already subscribed to an unknown view \(view)")
                self.held[view]!.count += 1
                return
            }
            var held = Held(request: request, projection: projection, state: first == .snapshot ? nil : resumed)
            held.isBlind = isBlind && first != .snapshot
            held.hasResumed = resumed != nil || isBlind
            if case .current(let revision) = first { held.state?.revision = revision }
            self.held[view] = held
        case (.change(let old, let request), .subscribed(let view, let first, _, let projection)):
            try self.change(old, to: view, request, first, projection)
        case (.end(let view), .done):
            self.leave(view)
        case (.changes, .subscribed(let view, _, _, _)):
            self.changeViews.insert(view)
        case (.subscription, _), (.change, _), (.end, _), (.changes, _):
            throw MeaningFailure("request \(requestID) is answered by \(reply)")
        case (.other, _):
            break
        }
    }

    private func leave(_ view: UInt32) {
        if self.changeViews.remove(view) != nil { return }
        self.held[view]?.count -= 1
        if self.held[view]?.count == 0 { self.held[view] = nil }
    }

    private func change(
        _ old: UInt32,
        to view: UInt32,
        _ request: ObjectFetchRequest,
        _ first: FirstState,
        _ projection: [PropertyNumber]
    ) throws {
        // The old subscription may have ended meanwhile. Then the new one begins with a snapshot.
        let was = self.held[old]
        try MeaningFailure.unless(
            was != nil || first == .snapshot || first == .alreadySubscribed,
            "the ended view \(old) becomes view \(view) with \(first)"
        )
        if case .current(let revision) = first {
            self.held[view]?.state?.revision = revision
            return try MeaningFailure.unless(view == old, "the client is current, but the view is another one")
        }
        self.leave(old)
        if first == .alreadySubscribed {
            try MeaningFailure.unless(self.held[view] != nil, "already subscribed to an unknown view \(view)")
            self.held[view]!.count += 1
            return
        }
        var held = Held(request: request, projection: projection, state: first == .snapshot ? nil : was?.state)
        held.isBlind = first == .difference && was?.isBlind ?? false
        self.held[view] = held
    }

    func take(_ push: EnginePush) throws {
        if case .changeSet(let body) = push.content {
            try MeaningFailure.unless(self.changeViews.contains(push.view), "a change set for an unknown view")
            _ = try ByteReader.read(body.bytes) { (reader) throws(DecodingFailure) in
                let part = try reader.changeSetPart()
                try reader.finish("part")
                return part
            }
            return
        }
        if case .end = push.content {
            self.changeViews.remove(push.view)
            self.held[push.view] = nil
            return
        }
        guard var held = self.held[push.view] else { throw MeaningFailure("a push for an unknown view \(push.view)") }
        defer { self.held[push.view] = held }
        let count = held.projection.count
        switch push.content {
        case .diff(let body):
            let diff = try ByteReader.read(body) { (reader) throws(DecodingFailure) in
                let diff = try reader.diff(valueCount: count, hasWindow: held.request.window != nil)
                try reader.finish("diff")
                return diff
            }
            self.diffs += 1
            guard !held.isBlind else { return }
            guard var state = held.state else {
                throw MeaningFailure("a diff before the snapshot of view \(push.view)")
            }
            // A diff that answers RESUBSCRIBE starts at a state that may be newer than the client's last revision.
            if diff.from == diff.to { state.revision = max(state.revision, diff.from) }
            try state.apply(diff)
            try MeaningFailure.unless(state.digest == diff.digest, "wrong digest after \(diff) of \(held.request)")
            held.state = state
        case .snapshot(let header, let bodies):
            held.state = try header.state(bodies.map(\.bytes), held.projection)
            held.isBlind = false
        case .position(let position, _):
            held.state?.window = position
        case .changeSet, .end, .totals:
            break
        }
    }

    func take(_ message: PresenceMessage) throws {
        try MeaningFailure.unless(!self.isBlocked, "presence on a blocked connection")
        var present = message.isWhole ? [] : self.present[message.scope]
        for change in message.changes {
            let wasPresent = change.state == nil ? present?.remove(change.number) != nil : true
            try MeaningFailure.unless(wasPresent, "a client is gone that was not present")
            if change.state != nil { present?.insert(change.number) }
        }
        try MeaningFailure.unless(present != nil, "changes of a scope before its whole state")
        self.present[message.scope] = present
    }

    func takeProgress(_ revision: Revision) {
        for view in self.held.keys { self.held[view]!.state?.revision = revision }
    }

    func end() { self.isEnded = true }
}

extension SnapshotHeader {
    /// Decodes the state from bodies of rows.
    func state(_ bodies: [[UInt8]], _ projection: [PropertyNumber]) throws -> SectionedSnapshot {
        let rows = try bodies.flatMap { body in
            try ByteReader.read(body) { (reader) throws(DecodingFailure) in
                try reader.rows(valueCount: projection.count)
            }
        }
        try MeaningFailure.unless(rows.count == self.rowCount, "a snapshot has \(rows.count) of \(self.rowCount) rows")
        var rest = rows[...]
        let sections = self.sections.map { section in
            defer { rest = rest.dropFirst(section.rowCount) }
            return ResultsSection(key: section.key, rows: Array(rest.prefix(section.rowCount)))
        }
        let state = SectionedSnapshot(
            revision: self.revision,
            projection: projection,
            sections: sections,
            window: self.window
        )
        try MeaningFailure.unless(state.digest == self.digest, "wrong digest of a snapshot")
        return state
    }
}
