import NIOCore
import NestClient
import NestModel
import NestTestSupport
import NestProtocol
import NestFraming

/// A server as a value that implements only subscriptions. It computes its replies and pushes by the rules of
/// `protocol.md`, naively, from the complete list of rows at each revision. The rows are sorted by id; a request with a
/// sort key reverses them. Those of a request for property 3 have a second value. A request with a window of 13 rows is
/// refused.
struct PlainServer {
    /// A view: the requests with equal keys have the same result.
    struct Key: Hashable {
        var isBackwards: Bool
        var isWide: Bool
        var window: FetchWindow?

        init(_ request: ObjectFetchRequest) {
            self.isBackwards = !request.sort.isEmpty
            self.isWide = request.projection.contains(PlainServer.second)
            self.window = request.window
        }

        var projection: [PropertyNumber] { [PropertyNumber(1)] + (self.isWide ? [PlainServer.second] : []) }
    }

    static let refusedLimit = 13
    static let second = PropertyNumber(3)
    /// The error of a requested window of `refusedLimit` rows.
    static let refusal = NestError(.invalid, "no")

    /// The id of the store's history: 1, and one more for each restored backup.
    private(set) var historyNumber: UInt64 = 1
    /// The rows of each revision.
    private(set) var history: [[Row]] = [[]]
    /// The rows of each revision of the earlier histories.
    private var lostHistories: [[[Row]]] = []
    /// The number of subscriptions of the connection to each view.
    private(set) var counts: [UInt32: Int] = [:]
    private var keys: [UInt32: Key] = [:]
    private var ids: [Key: UInt32] = [:]
    private var nextView = Limits.viewIDMin
    /// The frames on their way to the client, in order.
    var outbox: [Frame] = []
    /// Whether views keep their ids without subscriptions of this connection, as if other clients held them.
    let keepsIDs: Bool
    /// Whether some diffs are wrong.
    var isFaulty = false

    init(keepsIDs: Bool) {
        self.keepsIDs = keepsIDs
    }

    var historyID: Identifier128 { Identifier128(high: 0, low: self.historyNumber) }
    var head: Revision { Revision(UInt64(self.history.count - 1)) }

    static func isRefused(_ request: ObjectFetchRequest) -> Bool {
        if case .range(_, Self.refusedLimit)? = request.window { true } else { false }
    }

    func state(_ request: ObjectFetchRequest) -> SectionedSnapshot { self.state(request, at: self.head) }

    func state(_ request: ObjectFetchRequest, at revision: Revision) -> SectionedSnapshot {
        self.state(Key(request), at: revision)
    }

    /// Whether a state is the result of a view at its revision, in this history or in an earlier one from `first` on.
    func hasHad(_ state: SectionedSnapshot, of key: Key, since first: UInt64, checksPosition: Bool) -> Bool {
        (self.lostHistories + [self.history])[Int(first - 1)...].contains { history in
            guard state.revision.rawValue < UInt64(history.count) else { return false }
            var expected = Self.state(key, at: state.revision, in: history)
            if !checksPosition { expected.window = state.window }
            return state == expected
        }
    }

    private func state(_ key: Key, at revision: Revision) -> SectionedSnapshot {
        Self.state(key, at: revision, in: self.history)
    }

    private static func state(_ key: Key, at revision: Revision, in history: [[Row]]) -> SectionedSnapshot {
        var rows = history[Int(revision.rawValue)]
        if key.isBackwards { rows.reverse() }
        if key.isWide {
            for index in rows.indices { rows[index].values.append(.boolean(rows[index].id.rawValue.isMultiple(of: 2))) }
        }
        var position: WindowPosition?
        if case .range(let offset, let limit)? = key.window {
            let first = min(offset, rows.count)
            let start = WindowStart(row: first, rowInSection: first)
            position = WindowPosition(total: rows.count, sectionTotal: 1, start: start)
            rows = Array(rows[first..<min(first + limit, rows.count)])
        }
        var state = Fixtures.state(revision.rawValue, rows)
        state.projection = key.projection
        state.window = position
        return state
    }

    // MARK: Writes

    mutating func write(_ random: inout SeededRandom) {
        var rows = self.history[self.history.count - 1]
        for _ in 0...random.below(2) {
            let id = Int64(random.below(30)) + 1
            if let index = rows.firstIndex(where: { $0.id.rawValue == id }) {
                if random.oneIn(2) {
                    rows.remove(at: index)
                } else {
                    rows[index].values = [.string("v\(random.below(9))")]
                }
            } else {
                let index = rows.firstIndex { $0.id.rawValue > id } ?? rows.count
                rows.insert(Fixtures.row(id, "v\(random.below(9))"), at: index)
            }
        }
        let before = self.head
        self.history.append(rows)
        for view in self.counts.keys.sorted() { self.push(view, from: before, &random) }
        if random.oneIn(2) { self.sendProgress() }
    }

    /// Replaces the store by a backup, whose revisions go on from an earlier one. No connection survives it.
    mutating func restore(_ random: inout SeededRandom) {
        self.lostHistories.append(self.history)
        self.history.removeLast(random.below(self.history.count))
        self.historyNumber += 1
        self.write(&random)
        self.disconnect()
    }

    /// Sends PROGRESS, which a server sends about every second whatever it sent before.
    mutating func sendProgress() { self.send(Progress(revision: self.head)) }

    private mutating func push(_ view: UInt32, from before: Revision, _ random: inout SeededRandom) {
        guard let key = self.keys[view] else { return }
        let (old, new) = (self.state(key, at: before), self.state(key, at: self.head))
        if old.sections == new.sections {
            if let window = new.window, window != old.window {
                self.send(Totals(revision: self.head, window: window), id: view)
            }
        } else if random.oneIn(8) {
            self.sendSnapshot(view, .largeChange, &random)
        } else {
            var diff = self.difference(from: old, to: new, from: self.lastChange(key, before: before))
            if self.isFaulty, random.oneIn(30) { diff = self.faulty(diff) }
            self.send(Fixtures.body(diff), id: view)
        }
    }

    /// Returns the revision of the last change of a view at or before a revision.
    private func lastChange(_ key: Key, before: Revision) -> Revision {
        var revision = before
        while revision.rawValue > 0 {
            let earlier = Revision(revision.rawValue - 1)
            if self.state(key, at: earlier).sections != self.state(key, at: revision).sections { break }
            revision = earlier
        }
        return revision
    }

    private func difference(from old: SectionedSnapshot, to new: SectionedSnapshot, from: Revision) -> ResultsDiff {
        var diff = NaiveDiff.difference(from: old, to: new)
        diff.from = from
        diff.window = new.window
        return diff
    }

    /// Returns a diff that leads to other rows than those of its digest.
    private func faulty(_ diff: ResultsDiff) -> ResultsDiff {
        var diff = diff
        for index in diff.insertedRows.indices { diff.insertedRows[index].row.id = ObjectID(100 + Int64(index)) }
        if diff.insertedRows.isEmpty { diff.digest ^= 1 }
        return diff
    }

    // MARK: Requests

    /// Discards all state of the connection.
    mutating func disconnect() {
        self.outbox = []
        self.counts = [:]
    }

    mutating func receive(_ frame: Frame, _ random: inout SeededRandom) throws {
        switch MessageType(rawValue: frame.type) {
        case .subscribe: self.subscribe(try Subscribe(body: frame.body), frame.id, &random)
        case .resubscribe: self.resubscribe(try Resubscribe(body: frame.body), frame.id, &random)
        case .unsubscribe:
            let view = try Unsubscribe(body: frame.body).view
            guard self.leave(view) else { return self.refuse(NestError(.notFound, "no such view"), frame.id) }
            self.send(Done(), id: frame.id)
        default: break
        }
    }

    private mutating func subscribe(_ message: Subscribe, _ id: UInt32, _ random: inout SeededRandom) {
        if Self.isRefused(message.request) { return self.refuse(Self.refusal, id) }
        let key = Key(message.request)
        let (view, isKnown) = self.take(key)
        if isKnown { return self.acceptKnown(view, key, id) }
        guard let resume = message.resume, resume.historyID == self.historyID, !random.oneIn(6) else {
            self.accept(view, .snapshot, id)
            return self.sendSnapshot(view, .first, &random)
        }
        let (old, new) = (self.state(key, at: resume.revision), self.state(key, at: self.head))
        if self.history[Int(resume.revision.rawValue)...].allSatisfy({ $0 == self.history.last }) {
            self.accept(view, .current(self.head), id)
        } else {
            self.accept(view, .difference, id)
            self.send(Fixtures.body(self.difference(from: old, to: new, from: resume.revision)), id: view)
        }
    }

    private mutating func resubscribe(_ message: Resubscribe, _ id: UInt32, _ random: inout SeededRandom) {
        guard self.counts[message.view] != nil, let old = self.keys[message.view] else {
            return self.refuse(NestError(.notFound, "no such view"), id)
        }
        if Self.isRefused(message.request) { return self.refuse(Self.refusal, id) }
        let key = Key(message.request)
        if key == old { return self.accept(message.view, .current(self.head), id) }
        let (view, isKnown) = self.take(key)
        defer { _ = self.leave(message.view) }
        if isKnown { return self.acceptKnown(view, key, id) }
        guard key.isBackwards == old.isBackwards, key.isWide == old.isWide, !random.oneIn(5) else {
            self.accept(view, .snapshot, id)
            // A large result was read at an earlier revision; the later changes follow.
            let revision = Revision(UInt64(max(0, self.history.count - 1 - random.below(4))))
            self.sendSnapshot(view, .first, at: revision, &random)
            let (read, now) = (self.state(key, at: revision), self.state(key, at: self.head))
            if read.sections != now.sections {
                self.send(Fixtures.body(self.difference(from: read, to: now, from: revision)), id: view)
            } else if let window = now.window {
                self.send(Totals(revision: self.head, window: window), id: view)
            }
            return
        }
        self.accept(view, .difference, id)
        let (before, after) = (self.state(old, at: self.head), self.state(key, at: self.head))
        self.send(Fixtures.body(self.difference(from: before, to: after, from: self.head)), id: view)
    }

    private mutating func acceptKnown(_ view: UInt32, _ key: Key, _ id: UInt32) {
        if let window = self.state(key, at: self.head).window {
            self.send(Totals(revision: self.head, window: window), id: view)
        }
        self.accept(view, .alreadySubscribed, id)
    }

    private mutating func take(_ key: Key) -> (view: UInt32, isKnown: Bool) {
        if let view = self.ids[key], self.keepsIDs || self.counts[view] != nil {
            self.counts[view, default: 0] += 1
            return (view, self.counts[view] != 1)
        }
        let view = self.nextView
        self.nextView += 1
        self.ids[key] = view
        self.keys[view] = key
        self.counts[view] = 1
        return (view, false)
    }

    private mutating func leave(_ view: UInt32) -> Bool {
        guard let count = self.counts[view] else { return false }
        self.counts[view] = count > 1 ? count - 1 : nil
        return true
    }

    // MARK: Frames

    private mutating func accept(_ view: UInt32, _ first: FirstState, _ id: UInt32) {
        let projection = self.keys[view]?.projection ?? []
        self.send(Subscribed(view: view, first: first, reason: "", projection: projection), id: id)
    }

    private mutating func refuse(_ error: NestError, _ id: UInt32) {
        self.send(ErrorMessage(error), id: id)
    }

    private mutating func sendSnapshot(
        _ view: UInt32,
        _ reason: SnapshotReason,
        at revision: Revision? = nil,
        _ random: inout SeededRandom
    ) {
        guard let key = self.keys[view] else { return }
        let state = self.state(key, at: revision ?? self.head)
        var header = Fixtures.header(state)
        header.reason = reason
        if let window = state.window { header.window = window }
        let rows = state.sections[0].rows
        self.send(SnapshotMessage(header), id: view, flags: rows.isEmpty ? [] : .more)
        guard !rows.isEmpty else { return }
        let cut = random.below(rows.count + 1)
        self.send(Fixtures.rows(Array(rows[..<cut])), id: view, flags: .more)
        self.send(Fixtures.rows(Array(rows[cut...])), id: view)
    }

    private mutating func send(_ message: some Message, id: UInt32 = 0, flags: Frame.Flags = []) {
        let type = Swift.type(of: message).type.rawValue
        self.outbox.append(Frame(type: type, flags: flags, id: id, body: ByteBuffer(bytes: message.body)))
    }
}
