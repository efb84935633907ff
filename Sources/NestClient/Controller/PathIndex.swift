import NestModel

/// The path of each object in a result: computed once in O(n), and then updated by diffs.
///
/// A query takes O(d log k) for the d diffs of k changes since the index was built. d is limited: after that, the index
/// must be rebuilt. About 50 bytes an object.
struct PathIndex {
    private struct Step {
        var mapping: PathMapping
        var arrived: [ObjectID: RowPosition] = [:]
        var left: Set<ObjectID> = []
    }

    static let stepsMax = 32

    private let base: [ObjectID: RowPosition]
    private var steps: [Step] = []
    private var changeCount = 0

    init(_ state: SectionedSnapshot) {
        var base: [ObjectID: RowPosition] = [:]
        base.reserveCapacity(state.total)
        for (section, content) in state.sections.enumerated() {
            for (row, value) in content.rows.enumerated() { base[value.id] = RowPosition(section, row) }
        }
        self.base = base
    }

    /// Whether a new index is cheaper than the recorded diffs.
    var needsRebuild: Bool {
        self.steps.count >= Self.stepsMax || self.changeCount > max(1_000, self.base.count / 4)
    }

    /// Records that the state has changed by `diff`, with `events`.
    mutating func note(_ diff: ResultsDiff, _ events: [FetchedResultsEvent]) {
        var step = Step(mapping: PathMapping(diff))
        for event in events {
            switch event {
            case .delete(let row, _): step.left.insert(row.id)
            case .insert(let row, let path), .move(let row, _, let path): step.arrived[row.id] = path
            default: break
            }
        }
        let isStructural =
            !step.left.isEmpty || !step.arrived.isEmpty || !diff.deletedSections.isEmpty
            || !diff.insertedSections.isEmpty
        guard isStructural else { return }
        self.changeCount += step.left.count + step.arrived.count
        self.steps.append(step)
    }

    func indexPath(of id: ObjectID) -> RowPosition? {
        var path = self.base[id]
        var next = 0
        for (index, step) in self.steps.enumerated().reversed() {
            let arrived = step.arrived[id]
            guard arrived != nil || step.left.contains(id) else { continue }
            (path, next) = (arrived, index + 1)
            break
        }
        for step in self.steps[next...] {
            guard let held = path else { return nil }
            path = step.mapping.newPath(of: held)
        }
        return path
    }
}
