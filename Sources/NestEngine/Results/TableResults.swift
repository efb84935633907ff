import NestModel
import NestSchema

/// The live results that the objects, or pairs, of one table may affect, and the ways from a changed object to them.
final class TableResults {
    typealias Entry = ResultRegistry.Entry
    typealias Bucket = ResultRegistry.Bucket
    typealias Route = ResultRegistry.Route

    /// The results that the value of one slot leads to.
    private struct SlotResults {
        let slot: Int
        /// Those whose value is a reference. Most are: they have a dictionary of their own, because an id is looked up
        /// faster than a value.
        var owned: [ObjectID: Bucket] = [:]
        /// Those with any other value.
        var byValue: [AttributeValue: Bucket] = [:]

        subscript(value: AttributeValue) -> Bucket? {
            get {
                switch value {
                case .null: nil
                case .reference(let owner): self.owned[owner]
                default: self.byValue.isEmpty ? nil : self.byValue[value]
                }
            }
            set {
                if case .reference(let owner) = value {
                    self.owned[owner] = newValue
                } else {
                    self.byValue[value] = newValue
                }
            }
        }

        /// Returns the bucket of an object's value. Decodes the value only if there are results for others than
        /// references.
        subscript(row: ObjectRow?) -> Bucket? {
            guard let row, !row.values.isNull(self.slot) else { return nil }
            if let owner = row.values.reference(self.slot) { return self.owned[owner] }
            return self.byValue.isEmpty ? nil : self.byValue[row.values[self.slot]]
        }

        var isEmpty: Bool { self.owned.isEmpty && self.byValue.isEmpty }
    }

    let number: EntityNumber
    /// Results without a route, which any object of the table may affect.
    private(set) var whole: Bucket?
    private var slots: [SlotResults] = []
    /// The number of paired results with rows of the table.
    var pairedCount = 0
    /// Paired results with a predicate: an object may enter by its values alone.
    var pairedByValue: [Entry] = []
    /// The number of results whose paths or sub-trees go through the table.
    var watcherCount = 0

    init(_ number: EntityNumber) { self.number = number }

    /// Whether results depend on objects of the table other than their rows.
    var isWatched: Bool { self.watcherCount > 0 }

    /// Whether any result has rows or pairs of the table.
    var hasRows: Bool { !self.slots.isEmpty || self.whole != nil || self.pairedCount > 0 }

    /// Whether any of them is a paired result with rows of the table, or may get some.
    var isPaired: Bool { self.pairedCount > 0 || !self.pairedByValue.isEmpty }

    var isEmpty: Bool { !self.hasRows && !self.isWatched && self.pairedByValue.isEmpty }

    // MARK: Buckets

    /// Returns the bucket of a route; that of the whole table without one.
    func bucket(for route: Route?) -> Bucket {
        guard let route else {
            let bucket = self.whole ?? Bucket()
            self.whole = bucket
            return bucket
        }
        let index = self.slots.firstIndex { $0.slot == route.slot } ?? self.slots.count
        if index == self.slots.count { self.slots.append(SlotResults(slot: route.slot)) }
        let bucket = self.slots[index][route.value] ?? Bucket()
        self.slots[index][route.value] = bucket
        return bucket
    }

    func dropEmptyBucket(of route: Route?) {
        guard let route else {
            if self.whole?.entries.isEmpty ?? false { self.whole = nil }
            return
        }
        guard let index = self.slots.firstIndex(where: { $0.slot == route.slot }) else { return }
        guard self.slots[index][route.value]?.entries.isEmpty ?? false else { return }
        self.slots[index][route.value] = nil
        if self.slots[index].isEmpty { self.slots.remove(at: index) }
    }

    // MARK: Results that a change affects

    /// Calls `body` with each result that an object or a pair was in, or is in, by its own values. The cost does not
    /// depend on the number of other results.
    func forEachCandidate(_ object: ChangedRow, _ body: (Entry) -> Void) {
        self.forEachBucket(object) { for entry in $1.entries { body(entry) } }
    }

    /// Calls `body` with the object and the bucket of each of these results. The object is passed on because a closure
    /// that captures it copies it.
    func forEachBucket(_ object: ChangedRow, _ body: (ChangedRow, Bucket) -> Void) {
        if let whole { body(object, whole) }
        self.forEachRoutedBucket(object, body)
    }

    /// Calls `body` with those of these results that are found by a value.
    func forEachRouted(_ object: ChangedRow, _ body: (Entry) -> Void) {
        self.forEachRoutedBucket(object) { for entry in $1.entries { body(entry) } }
    }

    /// Calls `body` with the results that are found by a value. O(all results of the table).
    func forEachRouted(_ body: (AttributeValue, Entry) -> Void) {
        for slot in self.slots {
            for (owner, bucket) in slot.owned {
                for entry in bucket.entries { body(.reference(owner), entry) }
            }
            for (value, bucket) in slot.byValue {
                for entry in bucket.entries { body(value, entry) }
            }
        }
    }

    /// Calls `body` with the results that a value of a slot leads to.
    func forEach(_ slot: Int, _ value: AttributeValue, _ body: (Entry) -> Void) {
        guard let index = self.slots.firstIndex(where: { $0.slot == slot }) else { return }
        for entry in self.slots[index][value]?.entries ?? [] { body(entry) }
    }

    private func forEachRoutedBucket(_ object: ChangedRow, _ body: (ChangedRow, Bucket) -> Void) {
        for index in self.slots.indices {
            if let bucket = self.slots[index][object.before] { body(object, bucket) }
            if let before = object.before, let after = object.after,
                before.values.isSame(self.slots[index].slot, as: after.values)
            {
                continue
            }
            if let bucket = self.slots[index][object.after] { body(object, bucket) }
        }
    }
}
