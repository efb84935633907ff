import NestModel
import NestOrder

/// Computes the difference for one view: the rows that enter and leave its window, and those that move inside it.
struct WindowDifference {
    private let delta: ResultDelta
    private let old: WindowFrame
    private let new: WindowFrame
    /// The stationary rows in the window before and after, by rank among the stationary rows.
    private let oldRanks: Range<Int>
    private let newRanks: Range<Int>
    private var difference = StructuralDifference()
    private var sections: SectionDifference
    private var candidates: [MoveCandidate] = []

    init(_ delta: ResultDelta, _ oldRange: Range<Int>, _ newRange: Range<Int>) {
        func ranks(_ range: Range<Int>, _ placed: [Int]) -> Range<Int> {
            let first = range.lowerBound - rank(range.lowerBound, in: placed)
            return first..<range.upperBound - rank(range.upperBound, in: placed)
        }
        self.delta = delta
        self.old = WindowFrame(delta.old, oldRange)
        self.new = WindowFrame(delta.new, newRange)
        self.oldRanks = ranks(oldRange, delta.oldPlaced)
        self.newRanks = ranks(newRange, delta.newPlaced)
        self.sections = SectionDifference(old: self.old, new: self.new)
    }

    mutating func take() -> StructuralDifference {
        for entry in self.delta.entries { self.take(entry) }
        self.takeEnds()
        if !self.candidates.isEmpty {
            let common = self.oldRanks.clamped(to: self.newRanks)
            self.difference.moves = movesOf(self.candidates, self.delta, common: common).map { candidate in
                .init(from: self.old.path(of: candidate.before), to: self.new.path(of: candidate.after))
            }
        }
        self.difference.deletedSections = self.sections.deleted
        self.difference.insertedSections = self.sections.inserted
        self.difference.deletedRows.sort { $0.path < $1.path }
        self.difference.insertedRows.sort { $0.path < $1.path }
        self.difference.changedRows.sort { $0.path < $1.path }
        return self.difference
    }

    // MARK: Changed rows

    private mutating func take(_ entry: ResultDelta.Entry) {
        let changes = self.delta.changes
        let (before, after) = (changes[entry.change].before, changes[entry.change].after)
        let isInOld = entry.oldIndex.map { self.old.range.contains($0) } ?? false
        let isInNew = entry.newIndex.map { self.new.range.contains($0) } ?? false
        if isInOld, isInNew, let before, let after {
            if entry.isPlaced { self.keep(entry, before, after) }
            let changed = changes[entry.change].changed
            if !changed.isEmpty {
                let path = self.new.path(of: after, at: entry.newIndex)
                self.difference.changedRows.append((path, after.id, changed))
            }
        } else if entry.isPlaced {
            // A stationary row enters or leaves only at an end of the window.
            if isInOld, let before {
                let isDeleted = changes[entry.change].isDeleted
                let reason: LeaveReason = after != nil ? .outOfWindow : isDeleted ? .deleted : .unmatched
                self.leave(before, at: entry.oldIndex, reason)
            }
            if isInNew, let after { self.enter(after, at: entry.newIndex) }
        }
    }

    private mutating func keep(_ entry: ResultDelta.Entry, _ before: RowKey, _ after: RowKey) {
        guard let oldIndex = entry.oldIndex, let newIndex = entry.newIndex else { return }
        let changesSection = self.sections.isMove(before, after)
        self.candidates.append(
            MoveCandidate(
                before: before,
                after: after,
                oldIndex: oldIndex,
                newIndex: newIndex,
                changesSection: changesSection
            )
        )
        if changesSection {
            self.sections.note(leaving: before)
            self.sections.note(arriving: after)
        }
    }

    /// `index`: the row's index among all rows, if it is known.
    private mutating func leave(_ key: RowKey, at index: Int? = nil, _ reason: LeaveReason) {
        self.sections.note(leaving: key)
        self.difference.deletedRows.append(.init(path: self.old.path(of: key, at: index), id: key.id, reason: reason))
    }

    private mutating func enter(_ key: RowKey, at index: Int? = nil) {
        self.sections.note(arriving: key)
        self.difference.insertedRows.append((self.new.path(of: key, at: index), key.id))
    }

    // MARK: The ends of the window

    /// Adds the stationary rows that the window covered and no longer does, or the other way round: up to two runs
    /// each.
    private mutating func takeEnds() {
        guard self.oldRanks != self.newRanks else { return }
        for ranks in Self.subtracting(self.newRanks, from: self.oldRanks) {
            Self.forEach(ranks, self.delta.old, self.delta.oldPlaced) { self.leave($0, .outOfWindow) }
        }
        for ranks in Self.subtracting(self.oldRanks, from: self.newRanks) {
            Self.forEach(ranks, self.delta.new, self.delta.newPlaced) { self.enter($0) }
        }
    }

    private static func subtracting(_ other: Range<Int>, from range: Range<Int>) -> [Range<Int>] {
        guard !other.isEmpty, range.overlaps(other) else { return range.isEmpty ? [] : [range] }
        let low = range.lowerBound..<max(range.lowerBound, other.lowerBound)
        let high = min(range.upperBound, other.upperBound)..<range.upperBound
        return [low, high].filter { !$0.isEmpty }
    }

    /// Calls `body` with the stationary rows of these ranks.
    private static func forEach(
        _ ranks: Range<Int>,
        _ tree: OrderStatisticTree,
        _ placed: [Int],
        _ body: (RowKey) -> Void
    ) {
        var first = ranks.lowerBound
        var next = 0
        while next < placed.count, placed[next] <= first {
            first += 1
            next += 1
        }
        var end = first
        var left = ranks.count
        var skip = next
        while left > 0 {
            if skip < placed.count, placed[skip] == end { skip += 1 } else { left -= 1 }
            end += 1
        }
        var index = first
        tree.forEach(in: first..<end) { key in
            if next < placed.count, placed[next] == index { next += 1 } else { body(key) }
            index += 1
        }
    }
}

/// A range of a result's rows; a view's paths are relative to it.
struct WindowFrame {
    let tree: OrderStatisticTree
    let range: Range<Int>
    /// The position of the first row in the whole result.
    let start: RowPosition

    init(_ tree: OrderStatisticTree, _ range: Range<Int>) {
        self.tree = tree
        self.range = range
        if tree.sectioning == nil || range.isEmpty || range.lowerBound == 0 {
            self.start = RowPosition(0, range.lowerBound)
        } else {
            self.start = tree.path(of: tree.key(at: range.lowerBound))
        }
    }

    /// `index`: the row's index in the tree, if it is known. Precondition: the row is in the window.
    func path(of key: RowKey, at index: Int? = nil) -> RowPosition {
        if let index, self.tree.sectioning == nil { return RowPosition(0, index - self.start.row) }
        let path = self.tree.path(of: key)
        let section = path.section - self.start.section
        return RowPosition(section, section == 0 ? path.row - self.start.row : path.row)
    }

    /// Whether rows of a section are in the window.
    func shows(_ section: SortKey) -> Bool {
        let index = max(self.tree.index(of: RowKey(section, id: ObjectID(0))), self.range.lowerBound)
        return index < self.range.upperBound
            && self.tree.sectioning?.start(of: self.tree.key(at: index).sort) == section
    }

    func sectionIndex(of section: SortKey) -> Int { self.tree.sectionIndex(of: section) - self.start.section }
}

/// The inserted and deleted sections: only sections that rows entered or left can be among them.
struct SectionDifference {
    private let old: WindowFrame
    private let new: WindowFrame
    private let sectioning: Sectioning?
    private var left: Set<SortKey> = []
    private var reached: Set<SortKey> = []

    init(old: WindowFrame, new: WindowFrame) {
        self.old = old
        self.new = new
        self.sectioning = new.tree.sectioning
    }

    func isMove(_ before: RowKey, _ after: RowKey) -> Bool {
        guard let sectioning else { return false }
        return sectioning.start(of: before.sort) != sectioning.start(of: after.sort)
    }

    mutating func note(leaving key: RowKey) {
        if let sectioning { self.left.insert(sectioning.start(of: key.sort)) }
    }

    mutating func note(arriving key: RowKey) {
        if let sectioning { self.reached.insert(sectioning.start(of: key.sort)) }
    }

    var deleted: [Int] {
        guard self.sectioning != nil else { return [] }
        return self.left.filter { !self.new.shows($0) }.map { self.old.sectionIndex(of: $0) }.sorted()
    }

    var inserted: [ResultsDiff.InsertedSection] {
        guard let sectioning else { return [] }
        return self.reached.filter { !self.old.shows($0) }
            .map { .init(index: self.new.sectionIndex(of: $0), key: sectioning.name(of: $0)) }
            .sorted { $0.index < $1.index }
    }
}
