import NestModel
import NestSchema

/// A cache of the object counts of large to-many relationships that clients have asked for: counting takes a
/// millisecond for every 20,000 objects, and delays all other requests.
///
/// Follows the change sets of commits, revision by revision. Forgets counts that it cannot follow, and counts again on
/// demand.
struct OwnedCounts {
    struct Key: Hashable {
        var table: EntityNumber
        var slot: Int
        var owner: ObjectID
    }

    /// Smaller relationships are counted each time.
    static let countMin = 256
    /// Above it all are forgotten.
    static let entriesMax = 10_000

    /// Fewer are counted each time.
    private let countMin: Int
    private let entriesMax: Int
    private var counts: [Key: Int] = [:]
    /// The slots with an entry.
    private var slots: [EntityNumber: Set<Int>] = [:]
    /// That the counts are of.
    private var revision = Revision(0)

    init(countMin: Int, entriesMax: Int = Self.entriesMax) {
        self.countMin = countMin
        self.entriesMax = entriesMax
    }

    var entryCount: Int { self.counts.count }

    /// The count at `head`; `read` counts when it is not known.
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

    /// Follows a commit. O(changed objects) when there is an entry of their table.
    mutating func take(_ changes: ChangeSet, _ layout: ModelLayout) {
        guard !self.counts.isEmpty else { return }
        // Of a bulk write not all objects are here.
        guard changes.revision == self.revision.next, changes.blockCount == 0 else { return self.forget() }
        self.revision = changes.revision
        for object in changes.touched {
            guard let table = layout[object.entity]?.number, let slots = self.slots[table] else { continue }
            for slot in slots {
                let before = object.before?.values[slot].referenceValue
                let after = object.after?.values[slot].referenceValue
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
