import BenchEngine
import NestModel

/// A commit in the window of a large or deep outline, against the smallest one.
struct OutlineSize {
    let report: Report
    let rounds: Int
    let sizes: [Int]
    let shape: OutlineSide.Shape

    /// The number of commits in a block. All of them stay in the window.
    private static let commits = 15
    private static let blocks = 40

    func run() throws {
        guard let smallest = self.sizes.min() else { return }
        var small = try self.side(smallest)
        for size in self.sizes.sorted() where size > smallest {
            var large = try self.side(size)
            try self.measure(&large, &small, size, smallest)
            try large.subject.close()
        }
        try small.subject.close()
    }

    private func side(_ size: Int) throws -> OutlineSide {
        let side = try OutlineSide(self.shape, size)
        try side.subscribe(on: side.subject.connect(1))
        return side
    }

    private func measure(
        _ large: inout OutlineSide,
        _ small: inout OutlineSide,
        _ size: Int,
        _ smallest: Int
    ) throws {
        var measurements = OutlineSide.Change.allCases.map { change in
            Measurement(
                workload: "outline",
                parameters: "\(change.rawValue), \(Report.short(Double(size))) \(self.shape.rawValue)",
                unit: "us",
                nest: [],
                limitName: "the same with \(smallest); engine time of a commit with its diff",
                limit: [],
                isTime: true,
                wanted: "ratio 1.3"
            )
        }
        for round in 0..<self.rounds {
            Progress.show("\(size) \(self.shape.rawValue): round \(round + 1)")
            let medians = try Turns.medians(Self.blocks) {
                try large.block(Self.commits, isSubscribed: true)
            } _: {
                try small.block(Self.commits, isSubscribed: true)
            }
            for (index, figures) in medians.enumerated() {
                measurements[index].nest.append(figures.nest)
                measurements[index].limit.append(figures.limit)
            }
        }
        Progress.clear()
        for measurement in measurements { self.report.add(measurement) }
    }
}
