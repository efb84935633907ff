import NestModel

/// A store with undo kept the obvious slow way: for every committed transaction the whole graph before and after it, who wrote
/// it, and the stacks of each session as plain arrays. Written from the contract.
package struct UndoOracle {
    package private(set) var graph: NaiveGraph
    package private(set) var marks: PlacementMarks
    /// Ascending by revision, without a gap.
    package private(set) var records: [UndoRecord] = []
    /// Of each session.
    package var stacks: [Int: NaiveUndoStacks] = [:]
    /// What is held is likely, and not what the contract says: until the store has been looked at.
    package private(set) var isUncertain = false
    /// The marks are likely ones, until the store has been looked at.
    private var areMarksVague = false

    package init(graph: NaiveGraph, marks: PlacementMarks) {
        self.graph = graph
        self.marks = marks
    }

    package var head: Revision { self.records.last?.revision ?? Revision(0) }

    package func record(_ revision: Revision) -> UndoRecord? {
        revision.rawValue >= 1 && revision <= self.head ? self.records[Int(revision.rawValue) - 1] : nil
    }

    // MARK: Transactions

    /// A write that changed something became the next revision.
    package mutating func append(
        _ graph: NaiveGraph,
        _ marks: PlacementMarks,
        session: UInt64,
        kind: HistoryEntry.Kind,
        name: String,
        isVague: Bool
    ) {
        var record = UndoRecord(
            revision: self.head.next,
            session: session,
            kind: kind,
            name: name,
            before: self.graph,
            after: graph,
            marksBefore: self.marks,
            marksAfter: marks
        )
        self.areMarksVague = self.areMarksVague || isVague
        record.isVague = self.areMarksVague
        self.records.append(record)
        self.graph = graph
        self.marks = marks
    }

    /// What the store really holds, of which the order of lists and the marks may have been guesses since a revision.
    package mutating func see(_ graph: NaiveGraph, _ marks: PlacementMarks, since base: Revision) {
        for index in self.records.indices where self.records[index].revision > base {
            self.records[index].marksBefore.settle(by: marks)
            self.records[index].marksAfter.settle(by: marks)
        }
        if self.head > base {
            self.records[self.records.count - 1].after = graph
            self.records[self.records.count - 1].marksAfter = marks
        }
        self.graph = graph
        self.marks = marks
        self.isUncertain = false
        self.areMarksVague = false
    }

    /// A transaction of which only the store knows what it did. Of the last one that comes to light when the store is looked at.
    package mutating func appendUnknown(session: UInt64, kind: HistoryEntry.Kind, name: String) {
        if !self.records.isEmpty, self.isUncertain { self.records[self.records.count - 1].isUnknown = true }
        self.append(self.graph, self.marks, session: session, kind: kind, name: name, isVague: false)
        self.records[self.records.count - 1].isUnknown = self.isUncertain
        self.isUncertain = true
    }

    // MARK: Taking back

    /// Under whom an object was when it was deleted last.
    private func lastOwner(_ id: ObjectID, _ property: PropertyNumber) -> ObjectID? {
        let death = self.records.last { $0.before.lives(id) && !$0.after.lives(id) }
        return death?.before.related(id, property).first
    }

    /// One transaction after the other is taken back, the newest first; each with what it would leave.
    package func predict(_ revisions: [Revision], _ options: UndoOptions) -> EntryPrediction {
        var prediction = EntryPrediction(graph: self.graph, marks: self.marks)
        if self.areMarksVague { prediction.opening = "what stands where it stood may have been placed in this batch" }
        var left: Set<UndoSlot> = []
        for revision in revisions.reversed() {
            guard let record = self.record(revision) else {
                prediction.steps.append(.init(revision: revision, prediction: nil))
                continue
            }
            let step = UndoPredictor.predict(
                record,
                options,
                on: prediction.graph,
                prediction.marks,
                leaving: left
            ) { [self] in self.lastOwner($0, $1) }
            prediction.relax(step)
            left = step.left
            prediction.append(step, of: revision)
        }
        return prediction
    }
}

/// What taking an entry back does, transaction by transaction.
package struct EntryPrediction {
    package struct Step {
        package var revision: Revision
        /// `nil`: the transaction is not known.
        package var prediction: UndoPrediction?
        /// It takes a revision: `nil` when it may or may not.
        package var isChange: Bool? = false
    }

    package private(set) var graph: NaiveGraph
    package private(set) var marks: PlacementMarks
    package fileprivate(set) var steps: [Step] = []
    fileprivate var opening: String?

    private let found: NaiveGraph

    fileprivate init(graph: NaiveGraph, marks: PlacementMarks) {
        self.found = graph
        self.graph = graph
        self.marks = marks
    }

    /// A conflict over a slot that an older transaction changed too may be none in all.
    fileprivate mutating func relax(_ prediction: UndoPrediction) {
        for law in prediction.conflicts where !law.isRequired {
            for step in self.steps.indices {
                for index in (self.steps[step].prediction?.conflicts ?? []).indices {
                    let other = self.steps[step].prediction!.conflicts[index]
                    if law.objects == other.objects, law.properties == other.properties {
                        self.steps[step].prediction!.conflicts[index].isRequired = false
                    }
                }
            }
        }
    }

    fileprivate mutating func append(_ prediction: UndoPrediction, of revision: Revision) {
        var isChange: Bool? = false
        if !self.graph.isLike(prediction.graph) {
            isChange = true
        } else if self.marks != prediction.marks || !prediction.placed.isEmpty {
            isChange = nil
        }
        if prediction.isOpen { isChange = nil }
        self.steps.append(Step(revision: revision, prediction: prediction, isChange: isChange))
        self.graph = prediction.graph
        self.marks = prediction.marks
    }

    private var predictions: [UndoPrediction] { self.steps.compactMap(\.prediction) }

    package var openings: [String] {
        (self.opening.map { [$0] } ?? []) + self.predictions.flatMap(\.openings)
            + (self.predictions.count < self.steps.count ? ["not known"] : [])
    }
    package var isOpen: Bool { !self.openings.isEmpty }

    /// What the first step that is refused is refused with: later ones may be too.
    package var refusals: Set<ErrorCode> { self.predictions.reduce(into: []) { $0.formUnion($1.refusals) } }
    package var possibleRefusals: Set<ErrorCode> {
        self.predictions.reduce(into: []) { $0.formUnion($1.possibleRefusals) }
    }

    /// How many revisions it may take: what changes little is taken back together.
    package var changeCounts: ClosedRange<Int> {
        let sure = self.steps.count { $0.isChange == true }
        // What one does and the next takes back may be nothing in all.
        let isSure = self.steps.count == 1 ? sure == 1 : sure > 0 && !self.graph.isLike(self.found)
        return (isSure ? 1 : 0)...(sure + self.steps.count { $0.isChange == nil })
    }

    package var conflicts: [ConflictLaw] { self.predictions.flatMap(\.conflicts) }

    package func faults(of conflicts: UndoConflicts) -> [String] {
        guard !self.isOpen else { return [] }
        var all = UndoPrediction(graph: self.graph, marks: self.marks)
        all.conflicts = self.conflicts
        return all.faults(of: conflicts)
    }
}

extension NaiveGraph {
    /// The same but for the order of lists.
    package func isLike(_ other: NaiveGraph) -> Bool { self.unordered.objects == other.unordered.objects }

    package var unordered: NaiveGraph {
        var graph = self
        for (id, object) in self.objects {
            for (property, list) in object.related { graph.objects[id]!.related[property] = list.sorted() }
        }
        return graph
    }
}

extension PlacementMarks {
    /// Placements that were new get the stamp that they have now.
    fileprivate mutating func settle(by marks: PlacementMarks) {
        for (id, places) in self.places {
            for (property, stamp) in places where stamp == UndoPredictor.newStamp {
                self.places[id]![property] = marks.stamp(id, property) ?? stamp
            }
        }
    }
}
