import NestHistory
import NestModel

/// A one-line summary of a run or of a piece.
struct ChaosSummary: CustomStringConvertible {
    private(set) var writes = 0
    private(set) var receipts = 0
    private var repeated = 0
    private var unknown = 0
    private var observations = 0
    private var fetches = 0
    /// By name, so that a subscription over several pieces counts once.
    private var subscriptions: Set<String> = []
    private var followers: Set<String> = []
    private var events = 0
    private var resumed = 0
    private var resets = 0
    private(set) var changed = 0
    private(set) var folds = 0
    private var positions = 0
    private(set) var reverts = 0
    private var revisions: UInt64 = 0

    init() {}

    init(_ history: History) {
        self.add(history)
    }

    mutating func add(_ history: History) {
        self.writes += history.writes.count
        for write in history.writes {
            self.observations += write.observations.count
            for answer in write.answers {
                switch answer {
                case .receipt(let receipt):
                    self.receipts += 1
                    if receipt.isReplayed { self.repeated += 1 }
                case .unknown: self.unknown += 1
                case .refused: break
                }
            }
        }
        self.fetches += history.fetches.count
        self.subscriptions.formUnion(history.subscriptions.map(\.name))
        self.followers.formUnion(history.followers.map(\.name))
        for record in history.subscriptions {
            self.events += record.events.count
            for event in record.events {
                switch event {
                case .resumed: self.resumed += 1
                case .reset: self.resets += 1
                case .changed: self.changed += 1
                case .folding: self.folds += 1
                case .position: self.positions += 1
                case .snapshot, .diff, .progress, .disconnected: break
                }
            }
        }
        for part in history.audit where !part.hasMore {
            self.revisions += 1
            if part.reverted != nil { self.reverts += 1 }
        }
    }

    var description: String {
        """
        \(self.writes) writes (\(self.receipts) receipts, \(self.repeated) of them repeated, \(self.unknown) unknown, \
        \(self.observations) observations), \(self.fetches) fetches, \(self.subscriptions.count) subscriptions \
        (\(self.events) events, \(self.resumed) resumed, \(self.resets) reset, \(self.changed) changed, \
        \(self.folds) folded, \(self.positions) positions), \(self.reverts) undone or redone, \(self.followers.count) followers, \
        \(self.revisions) revisions
        """
    }
}
