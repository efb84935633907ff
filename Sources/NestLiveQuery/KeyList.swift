import NestModel
import NestOrder

/// The keys of a tree's node, ascending. Tails are stored separately, so that a row whose key has none takes 16 bytes,
/// and finding and copying such rows counts no references.
struct KeyList {
    private struct Head {
        var prefix: UInt64
        var id: ObjectID
    }

    private var heads: [Head] = []
    /// The tail of each key; empty while no key has one.
    private var tails: [KeyTail?] = []

    init() {}

    init(_ keys: some Collection<RowKey>) {
        self.heads = keys.map { Head(prefix: $0.sort.prefix, id: $0.id) }
        if keys.contains(where: { $0.sort.tail != nil }) { self.tails = keys.map(\.sort.tail) }
    }

    var count: Int { self.heads.count }
    var isEmpty: Bool { self.heads.isEmpty }

    subscript(index: Int) -> RowKey {
        let head = self.heads[index]
        let tail = self.tails.isEmpty ? nil : self.tails[index]
        return RowKey(SortKey(prefix: head.prefix, tail: tail), id: head.id)
    }

    func id(at index: Int) -> ObjectID { self.heads[index].id }

    /// Returns a number below 0, 0, or above 0 if the key at an index is below, equal to or above another.
    private func compare(_ index: Int, _ key: RowKey) -> Int {
        let head = self.heads[index]
        if head.prefix != key.sort.prefix { return head.prefix < key.sort.prefix ? -1 : 1 }
        if !self.tails.isEmpty || key.sort.tail != nil {
            let order = KeyTail.compare(self.tails.isEmpty ? nil : self.tails[index], key.sort.tail)
            if order != 0 { return order }
        }
        return head.id == key.id ? 0 : (head.id < key.id ? -1 : 1)
    }

    /// Returns how many keys are below this one.
    func lowerBound(_ key: RowKey) -> Int {
        var low = 0
        var high = self.count
        while low < high {
            let middle = (low + high) / 2
            if self.compare(middle, key) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Returns how many keys are not above this one.
    func upperBound(_ key: RowKey) -> Int {
        var low = 0
        var high = self.count
        while low < high {
            let middle = (low + high) / 2
            if self.compare(middle, key) <= 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }

    func holds(_ key: RowKey, at index: Int) -> Bool { index < self.count && self.compare(index, key) == 0 }

    /// `capacity`: the greatest number of keys of the node; reserved at once, because doubling would reserve too much.
    mutating func insert(_ key: RowKey, at index: Int, capacity: Int) {
        if self.heads.count == self.heads.capacity { self.heads.reserveCapacity(capacity) }
        self.heads.insert(Head(prefix: key.sort.prefix, id: key.id), at: index)
        if self.tails.isEmpty {
            guard let tail = key.sort.tail else { return }
            self.tails.reserveCapacity(capacity)
            self.tails.append(contentsOf: repeatElement(nil, count: self.heads.count))
            self.tails[index] = tail
        } else {
            if self.tails.count == self.tails.capacity { self.tails.reserveCapacity(capacity) }
            self.tails.insert(key.sort.tail, at: index)
        }
    }

    mutating func remove(at index: Int) {
        self.heads.remove(at: index)
        if !self.tails.isEmpty { self.tails.remove(at: index) }
    }

    /// Removes and returns the keys from an index on.
    mutating func split(at index: Int) -> KeyList {
        var right = KeyList()
        right.heads = Array(self.heads[index...])
        self.heads.removeSubrange(index...)
        if !self.tails.isEmpty {
            right.tails = Array(self.tails[index...])
            self.tails.removeSubrange(index...)
        }
        return right
    }

    /// Returns the keys of both lists. Those of `next` are all greater.
    func joined(with next: KeyList) -> KeyList {
        var joined = self
        joined.heads += next.heads
        if !(self.tails.isEmpty && next.tails.isEmpty) {
            joined.tails = self.allTails + next.allTails
        }
        return joined
    }

    private var allTails: [KeyTail?] {
        self.tails.isEmpty ? [KeyTail?](repeating: nil, count: self.count) : self.tails
    }

    /// The estimated memory of the keys' tails, in bytes.
    var tailByteCount: Int {
        self.tails.reduce(0) { $0 + Self.byteCount(of: $1) }
    }

    static func byteCount(of tail: KeyTail?) -> Int { tail.map { 8 + $0.byteCount } ?? 0 }
}
