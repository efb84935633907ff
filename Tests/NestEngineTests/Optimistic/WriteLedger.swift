import NestModel
import NestOverlay

/// What has become of each write of a client, kept in the plainest way: the oracle of which writes are laid over a
/// list.
struct WriteLedger {
    private enum Fate: Equatable {
        case pending
        case committed(Revision)
        /// It was refused or withdrawn, or has changed nothing.
        case gone
    }

    private var fates: [PendingWrites.ID: Fate] = [:]
    /// Those that the client has taken back.
    private var retracted: Set<PendingWrites.ID> = []

    mutating func add(_ id: PendingWrites.ID) { self.fates[id] = .pending }

    mutating func confirm(_ id: PendingWrites.ID, _ revision: Revision) { self.fates[id] = .committed(revision) }

    mutating func end(_ id: PendingWrites.ID) { self.fates[id] = .gone }

    mutating func retract(_ id: PendingWrites.ID) { self.retracted.insert(id) }

    /// The server has not undone it.
    mutating func restore(_ id: PendingWrites.ID) { self.retracted.remove(id) }

    /// Returns the writes that a list at a revision must show besides its own state.
    func applying(at revision: Revision) -> Set<PendingWrites.ID> {
        let all = self.fates.filter { id, fate in
            switch fate {
            case .pending: !self.retracted.contains(id)
            case .committed(let committed): revision < committed && !self.retracted.contains(id)
            case .gone: false
            }
        }
        return Set(all.keys)
    }
}
