import NestClient
import NestHistory
import NestModel
import NestTestSupport

/// The shared state of a run's participants: their records and the known objects of the list.
actor ChaosLedger {
    static let endName = "end"
    static let endTitle = "~end"

    let list: ObjectID
    /// The history of this piece, without the running subscriptions.
    private(set) var history = History()
    private(set) var isStopping = false
    /// The objects of the list according to the last complete fetch and the receipts since.
    private var ids: [ObjectID] = []
    /// The highest revision of a receipt.
    private(set) var revision = Revision(0)
    /// The revision of the run's last write, once it is done.
    private(set) var endRevision: Revision?
    /// The sums of the statistics over all server processes.
    private(set) var statistics: [String: UInt64] = [:]
    /// The participants that are not done.
    private var open: Set<String> = []
    private var subscriptions: [String: ChaosRecorder<SubscriptionRecord>] = [:]
    private var followers: [String: ChaosRecorder<FollowerRecord>] = [:]
    private var clients: [String: ChaosRecorder<ClientRecord>] = [:]
    /// How often each fault happened.
    private(set) var faults: [String: Int] = [:]

    init(list: ObjectID) {
        self.list = list
    }

    // MARK: Course

    /// Ends the writers.
    func stop() { self.isStopping = true }
    /// Lets new writers write.
    func allowWrites() { self.isStopping = false }

    func end(_ revision: Revision) { self.endRevision = revision }

    /// Counts a fault.
    func count(_ fault: String) { self.faults[fault, default: 0] += 1 }

    func began(_ name: String) { self.open.insert(name) }
    func ended(_ name: String) { self.open.remove(name) }
    var waitingFor: [String] { self.open.sorted() }

    // MARK: Records

    func add(_ write: Write) { self.history.writes.append(write) }
    func add(_ fetched: Fetched) { self.history.fetches.append(fetched) }

    /// `participant`: the owner of the subscription, if its name is not the record's name.
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

    /// Returns a recorder for what a client sees. It continues until `ended(_:of:)` or the end of the run.
    func sightings(_ name: String, of client: NestClient) -> ChaosSightings {
        let recorder = ChaosRecorder(ClientRecord(name: name), of: name)
        precondition(self.clients.updateValue(recorder, forKey: name) == nil, "\(name) twice")
        return ChaosSightings(recorder, client)
    }

    /// The client is closed.
    func endSightings(_ name: String) {
        guard let recorder = self.clients.removeValue(forKey: name) else { return }
        self.history.clients.append(recorder.take(isComplete: false))
    }

    func end(_ recorder: ChaosRecorder<SubscriptionRecord>, isComplete: Bool) {
        self.subscriptions[recorder.name] = nil
        self.history.subscriptions.append(recorder.take(isComplete: isComplete))
    }

    func end(_ recorder: ChaosRecorder<FollowerRecord>, isComplete: Bool) {
        self.followers[recorder.name] = nil
        self.history.followers.append(recorder.take(isComplete: isComplete))
    }

    /// Returns the participants that have not received all changes up to `revision`.
    func lagging(at revision: Revision) -> Set<String> {
        let reached =
            self.subscriptions.values.filter { $0.reached >= revision }.map(\.participant)
            + self.followers.values.filter { $0.reached >= revision }.map(\.participant)
        return self.open.subtracting(reached)
    }

    /// Returns the piece that ends with `last` once all participants have received it, otherwise `nil`.
    func takePiece(to last: Revision) -> History? {
        guard self.lagging(at: last).isEmpty else { return nil }
        var piece = self.history
        piece.subscriptions += self.subscriptions.values.map { $0.take(isComplete: true) }
        piece.followers += self.followers.values.map { $0.take(isComplete: true) }
        piece.clients += self.clients.values.map { $0.take(isComplete: true) }
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

    /// Records all objects of the list. Receipts do not name the objects that undo and redo insert or delete.
    func saw(_ ids: [ObjectID]) { self.ids = ids }

    /// Returns up to `count` different objects that may exist, and the number of all objects that may exist.
    func someIDs(_ count: Int, seed: UInt64) -> (ids: [ObjectID], known: Int) {
        var random = SeededRandom(seed: seed)
        return (Array(self.ids.shuffled(using: &random).prefix(count)), self.ids.count)
    }
}
