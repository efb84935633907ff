import NestModel
import NestSchema

/// A cache of the relationship counts of large to-many relationships that clients have requested: counting takes a
/// millisecond for every 20,000 objects, and delays all other requests.
///
/// Applies the change sets of commits, revision by revision. Discards counts that it cannot update; they are counted
/// again on demand.
struct OwnedCounts {
    struct Key: Hashable {
        var table: EntityNumber
        var slot: Int
        var owner: ObjectID
    }

    /// Smaller relationships are counted each time.
    static let countMin = 256
    /// When it is reached, all entries are discarded.
    static let entriesMax = 10_000

    /// Smaller relationships are counted each time.
    private let countMin: Int
    private let entriesMax: Int
    private var counts: [Key: Int] = [:]
    /// The slots with an entry.
    private var slots: [EntityNumber: Set<Int>] = [:]
    /// The revision of the counts.
    private var revision = Revision(0)

    init(countMin: Int, entriesMax: Int = Self.entriesMax) {
        self.countMin = countMin
        self.entriesMax = entriesMax
    }

    var entryCount: Int { self.counts.count }

    /// Returns the count at `head`. `read` counts the objects if the count is not cached.
    mutating func count<Failure: Error>(
        _ key: Key,
        head: Revision,
        _ read: () throws(Failure) -> Int
    ) throws(Failure) -> Int {
        if self.revision != head {
            self.forget()
            self.revision = head
        }
        if let count = self.counts[key] { return count }
        let count = try read()
        guard count >= self.countMin else { return count }
        if self.counts.count == self.entriesMax { self.forget() }
        self.counts[key] = count
        self.slots[key.table, default: []].insert(key.slot)
        return count
    }

    /// Applies a commit. O(changed objects) if there is an entry of their table.
    mutating func take(_ changes: ChangeSet, _ layout: ModelLayout) {
        guard !self.counts.isEmpty else { return }
        // The change set of a bulk write does not contain all objects.
        guard changes.revision == self.revision.next, changes.blockCount == 0 else { return self.forget() }
        self.revision = changes.revision
        for object in changes.changedRows {
            guard let table = layout[object.entity]?.number, let slots = self.slots[table] else { continue }
            for slot in slots {
                let before = object.before?.values.reference(slot)
                let after = object.after?.values.reference(slot)
                guard before != after else { continue }
                if let before { self.counts[Key(table: table, slot: slot, owner: before)]? -= 1 }
                if let after { self.counts[Key(table: table, slot: slot, owner: after)]? += 1 }
            }
        }
    }

    private mutating func forget() {
        self.counts = [:]
        self.slots = [:]
    }
}
