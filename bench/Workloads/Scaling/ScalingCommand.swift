import ArgumentParser
import NestModel
import NestProtocol

/// Measures how the cost of nest's operations grows: with rows, subscribers, subscriptions, objects, depth,
/// connections, revisions and undo entries.
struct ScalingCommand: AsyncParsableCommand {
    enum Part: String, CaseIterable, ExpressibleByArgument {
        case rows
        case first
        case subscribers
        case unconcerned
        case store
        case depth
        case connections
        case journal
        case undo

        var subject: any ScalingSubject.Type {
            switch self {
            case .rows: RowsSubject.self
            case .first: FirstSubject.self
            case .subscribers: SubscribersSubject.self
            case .unconcerned: UnconcernedSubject.self
            case .store: StoreSubject.self
            case .depth: DepthSubject.self
            case .connections: ConnectionsSubject.self
            case .journal: JournalSubject.self
            case .undo: UndoSubject.self
            }
        }
    }

    static let configuration = CommandConfiguration(
        commandName: "scaling",
        abstract: "Measure how the cost of a commit grows with rows, subscribers, subscriptions, depth, …",
        discussion: """
            Prints for each size the time of an operation, the server's processor time for it and the server's memory,
            then the exponent of growth. A second server stays at the smallest size and alternates with the one that
            grows: 'times' is the ratio of the two.

              rows         a row moved in a list with a subscriber, by rows of the list
              first        a new result, until its last row has arrived, by rows
              subscribers  a row changed, until the last subscriber has received it, by subscribers
              unconcerned  a row inserted, by subscriptions to other lists
              store        a row inserted, and any row changed, by the rows of the store
              depth        an item inserted below the last of a chain, and moved there, by the chain's length
              connections  a row inserted, by idle connections
              journal      a commit, a start after a crash, and two ways to resume, by revisions
              undo         a commit and an undo, by entries of the session's undo stack

            Takes about ten minutes, with --quick about two. Example: nestbench scaling subscribers depth --quick --json
            """
    )
    @OptionGroup var options: BenchOptions
    @Argument(help: "The parts to run; by default all.") var parts: [Part] = []
    @Flag(help: "Use smaller counts and fewer operations.") var quick = false

    func validate() throws {
        guard self.options.server == nil else {
            throw ValidationError("scaling starts its own servers; remove --server")
        }
    }

    func run() async throws {
        let report = ScalingReport(isJSON: self.options.json)
        for part in self.parts.isEmpty ? Part.allCases : self.parts {
            try await self.measure(part.subject, part.rawValue, report)
        }
    }

    private func measure<Subject: ScalingSubject>(
        _ subject: Subject.Type,
        _ name: String,
        _ report: ScalingReport
    ) async throws {
        let connectionsMax = Descriptors.connectionsMax()
        let counts = (self.quick ? Subject.counts.quick : Subject.counts.full)
            .filter { Subject.connections(for: $0) <= connectionsMax }
        let most = counts[counts.count - 1]
        let grown = try await Subject(self.options, most: most)
        let smallest = try await Subject(self.options, most: most)
        try await smallest.grow(to: counts[0])
        var points = Subject.series.map { _ in counts.map { ScalingPoint(count: $0) } }
        for (step, count) in counts.enumerated() {
            Progress.show("\(name): \(count)")
            try await grown.grow(to: count)
            for round in 0..<self.options.rounds {
                Progress.show("\(name): \(count), round \(round + 1)")
                let samples = (try await self.sample(grown), try await self.sample(smallest))
                for index in Subject.series.indices {
                    points[index][step].grown.append(samples.0[index])
                    points[index][step].smallest.append(samples.1[index])
                }
            }
            let memory = grown.server.child.memory.resident
            for index in points.indices { points[index][step].memory = memory }
        }
        for subject in [grown, smallest] { try await subject.server.close() }
        Progress.clear()
        for (series, points) in zip(Subject.series, points) {
            // A sample without operations means that the operation is impossible at this count.
            report.add(series, points.filter { $0.grown.allSatisfy { $0.count > 0 } })
        }
    }

    private func sample(_ subject: some ScalingSubject) async throws -> [Sample] {
        try await subject.sample(self.quick ? 0.15 : 0.6)
    }
}
