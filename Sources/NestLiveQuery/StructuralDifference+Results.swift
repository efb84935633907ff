import NestModel
import NestOrder

/// Differences between two trees in the form that subscribers receive.
extension StructuralDifference {
    /// Makes the difference from a range of one result to a range of another with the same order: rows leave and enter,
    /// none move. O(r log n) for r rows of the ranges.
    package init(
        from old: OrderStatisticTree,
        _ oldRange: Range<Int>,
        to new: OrderStatisticTree,
        _ newRange: Range<Int>
    ) {
        self.init()
        let oldFrame = WindowFrame(old, oldRange)
        let newFrame = WindowFrame(new, newRange)
        var sections = SectionDifference(old: oldFrame, new: newFrame)
        var kept: Set<ObjectID> = []
        old.forEach(in: oldRange) { key in
            if new.contains(key), newRange.contains(new.index(of: key)) {
                kept.insert(key.id)
                return
            }
            sections.note(leaving: key)
            let reason: LeaveReason = new.contains(key) ? .outOfWindow : .unmatched
            self.deletedRows.append(.init(path: oldFrame.path(of: key), id: key.id, reason: reason))
        }
        new.forEach(in: newRange) { key in
            guard !kept.contains(key.id) else { return }
            sections.note(arriving: key)
            self.insertedRows.append((newFrame.path(of: key), key.id))
        }
        self.deletedSections = sections.deleted
        self.insertedSections = sections.inserted
    }
}
