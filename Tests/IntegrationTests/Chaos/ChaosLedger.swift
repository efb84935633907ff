import NestHistory
import NestModel
import NestTestSupport

/// What the participants of a run share: what they have recorded, and what is known of the list.
actor ChaosLedger {
    static let endName = "end"
    static let endTitle = "~end"

    let list: ObjectID
    private(set) var history = History()
    private(set) var isStopping = false
    /// Objects of the list, as far as receipts have told.
    private var ids: [ObjectID] = []
    /// The highest that a receipt has named.
    private(set) var revision = Revision(0)
    /// Of the last write of the run, when it has been done.
    private(set) var endRevision: Revision?
    /// Of all lives of the server together.
    private(set) var statistics: [String: UInt64] = [:]
    /// Who is not done yet.
    private var open: Set<String> = []

    init(list: ObjectID) {
        self.list = list
    }

    /// Writers are to end.
    func stop() { self.isStopping = true }

    func end(_ revision: Revision) { self.endRevision = revision }

    func began(_ name: String) { self.open.insert(name) }
    func ended(_ name: String) { self.open.remove(name) }
    var waitingFor: [String] { self.open.sorted() }

    func add(_ write: Write) { self.history.writes.append(write) }
    func add(_ fetched: Fetched) { self.history.fetches.append(fetched) }
    func add(_ subscription: SubscriptionRecord) { self.history.subscriptions.append(subscription) }
    func add(_ follower: FollowerRecord) { self.history.followers.append(follower) }

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

    /// Some objects that may be there, no two the same, fewer when there are not so many; and how many there may be.
    func someIDs(_ count: Int, seed: UInt64) -> (ids: [ObjectID], known: Int) {
        var random = SeededRandom(seed: seed)
        return (Array(self.ids.shuffled(using: &random).prefix(count)), self.ids.count)
    }
}
