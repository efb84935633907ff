import NestLiveQuery
import NestModel

/// The changes of a batch to one result, as collected so far.
struct PendingResult {
    let entry: ResultRegistry.Entry
    var changes: [RowChange] = []
    /// The changes of a computed result.
    var computedChanges = ComputedChanges()
    private(set) var isLarge = false
    /// Whether a row may have several changes, because the transaction that inserted it also renumbered it.
    var isRenumbered = false
    fileprivate var isRemoved = false

    init(_ entry: ResultRegistry.Entry) { self.entry = entry }

    mutating func append(_ change: RowChange, differenceRowsMin: Int) {
        self.changes.append(change)
        let count = self.changes.count - 1
        guard change.isPlaced, count > differenceRowsMin, 3 * count > self.entry.result.tree.count else { return }
        // With so many changes the log is not kept, so the old values need not be remembered.
        self.changes[count].changed = []
        self.isLarge = true
    }
}

/// The results that a batch affects.
struct PendingResults {
    private var all: [PendingResult] = []
    private var indexes: [ObjectIdentifier: Int] = [:]
    /// The index that was looked up last: most batches affect one result, many times.
    private var last: Int?

    subscript(index: Int) -> PendingResult {
        get { self.all[index] }
        _modify { yield &self.all[index] }
    }

    /// Returns the index of a result, which it adds if it is not there.
    mutating func index(of entry: ResultRegistry.Entry) -> Int {
        if let last, self.all[last].entry === entry { return last }
        let index = self.indexes[ObjectIdentifier(entry)] ?? self.all.count
        if index == self.all.count {
            self.all.append(PendingResult(entry))
            self.indexes[ObjectIdentifier(entry)] = index
        }
        self.last = index
        return index
    }

    mutating func remove(_ entry: ResultRegistry.Entry) {
        guard let index = self.indexes.removeValue(forKey: ObjectIdentifier(entry)) else { return }
        if self.last == index { self.last = nil }
        self.all[index] = PendingResult(entry)
        self.all[index].isRemoved = true
    }

    /// Returns the results in the order in which they were created, and forgets them.
    mutating func take() -> [PendingResult] {
        defer { self = PendingResults() }
        let left = self.all.contains(where: \.isRemoved) ? self.all.filter { !$0.isRemoved } : self.all
        return left.count > 1 ? left.sorted { $0.entry.number < $1.entry.number } : left
    }
}

extension [RowChange] {
    /// Returns the net change of each row, in the order of their first changes.
    func merged() -> [RowChange] {
        // New objects have ascending ids: then no row is there twice.
        if self.hasAscendingIDs { return self }
        var net: [RowChange] = []
        net.reserveCapacity(self.count)
        var indexOfRow = [ObjectID: Int](minimumCapacity: self.count)
        var hasVanished = false
        for change in self {
            guard let index = indexOfRow[change.id] else {
                indexOfRow[change.id] = net.count
                net.append(change)
                continue
            }
            net[index].merge(change)
            hasVanished = hasVanished || net[index].before == nil && net[index].after == nil
        }
        return hasVanished ? net.filter { $0.before != nil || $0.after != nil } : net
    }

    private var hasAscendingIDs: Bool {
        for index in self.indices.dropFirst() where self[index].id <= self[index - 1].id { return false }
        return true
    }
}
