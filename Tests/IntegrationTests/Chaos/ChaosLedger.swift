import NestHistory
import NestModel
import NestTestSupport

/// What the participants of a run share: what they record, and what is known of the list.
actor ChaosLedger {
    static let endName = "end"
    static let endTitle = "~end"

    let list: ObjectID
    /// Of this piece, but for the subscriptions that go on.
    private(set) var history = History()
    private(set) var isStopping = false
    /// Objects of the list, as far as receipts have told since somebody saw all of it.
    private var ids: [ObjectID] = []
    /// The highest that a receipt has named.
    private(set) var revision = Revision(0)
    /// Of the last write of the run, when it has been done.
    private(set) var endRevision: Revision?
    /// Of all lives of the server together.
    private(set) var statistics: [String: UInt64] = [:]
    /// Who is not done yet.
    private var open: Set<String> = []
    private var subscriptions: [String: ChaosRecorder<SubscriptionRecord>] = [:]
    private var followers: [String: ChaosRecorder<FollowerRecord>] = [:]

    init(list: ObjectID) {
        self.list = list
    }

    // MARK: Course

    /// Writers are to end.
    func stop() { self.isStopping = true }
    /// Writers may write again.
    func goOn() { self.isStopping = false }

    func end(_ revision: Revision) { self.endRevision = revision }

    func began(_ name: String) { self.open.insert(name) }
    func ended(_ name: String) { self.open.remove(name) }
    var waitingFor: [String] { self.open.sorted() }

    // MARK: Records

    func add(_ write: Write) { self.history.writes.append(write) }
    func add(_ fetched: Fetched) { self.history.fetches.append(fetched) }

    /// `participant`: who has begun, if not the record itself.
    func begin(_ record: SubscriptionRecord, of participant: String? = nil) -> ChaosRecorder<SubscriptionRecord> {
        let recorder = ChaosRecorder(record, of: participant ?? record.name)
        precondition(self.subscriptions.updateValue(recorder, forKey: record.name) == nil, "\(record.name) twice")
        return recorder
    }

    func begin(_ record: FollowerRecord, of participant: String) -> ChaosRecorder<FollowerRecord> {
        let recorder = ChaosRecorder(record, of: participant)
        precondition(self.followers.updateValue(recorder, forKey: record.name) == nil, "\(record.name) twice")
        return recorder
    }

    func end(_ recorder: ChaosRecorder<SubscriptionRecord>, isComplete: Bool) {
        self.subscriptions[recorder.name] = nil
        self.history.subscriptions.append(recorder.take(isComplete: isComplete))
    }

    func end(_ recorder: ChaosRecorder<FollowerRecord>, isComplete: Bool) {
        self.followers[recorder.name] = nil
        self.history.followers.append(recorder.take(isComplete: isComplete))
    }

    /// Who has not been told all up to a revision.
    func behind(_ revision: Revision) -> Set<String> {
        let there =
            self.subscriptions.values.filter { $0.reached >= revision }.map(\.participant)
            + self.followers.values.filter { $0.reached >= revision }.map(\.participant)
        return self.open.subtracting(there)
    }

    /// The piece that ends with this revision, when everybody has been told of it.
    func takePiece(to last: Revision) -> History? {
        guard self.behind(last).isEmpty else { return nil }
        var piece = self.history
        piece.subscriptions += self.subscriptions.values.map { $0.take(isComplete: true) }
        piece.followers += self.followers.values.map { $0.take(isComplete: true) }
        self.history = History()
        return piece
    }

    // MARK: The list and the server

    func add(_ statistics: [Statistic]) {
        for statistic in statistics { self.statistics[statistic.name, default: 0] += statistic.value }
    }

    func acknowledged(_ mutations: [Mutation], _ receipt: Receipt) {
        self.revision = max(self.revision, receipt.revision)
        self.ids += receipt.insertedIDs
        for mutation in mutations {
            if case .delete(let object) = mutation { self.ids.removeAll { $0.rawValue == object.rawValue } }
        }
    }

    /// All that is there: what others have undone or done again no receipt tells.
    func saw(_ ids: [ObjectID]) { self.ids = ids }

    /// Some objects that may be there, no two the same, fewer when there are not so many; and how many there may be.
    func someIDs(_ count: Int, seed: UInt64) -> (ids: [ObjectID], known: Int) {
        var random = SeededRandom(seed: seed)
        return (Array(self.ids.shuffled(using: &random).prefix(count)), self.ids.count)
    }
}
