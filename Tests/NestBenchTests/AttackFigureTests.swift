import Foundation
import NestModel
import Testing

@testable import nestbench

/// The figures of an attack and their printed form.
@Suite struct AttackFigureTests {
    private func waits(_ milliseconds: [Int]) -> Waits {
        var waits = Waits()
        for wait in milliseconds { waits.add(.milliseconds(wait)) }
        return waits
    }

    private var figures: AttackFigures {
        var figures = AttackFigures(.bulk)
        for kind in Bystander.Kind.allCases {
            figures.alone[kind] = self.waits(Array(repeating: 2, count: 100))
            figures.attacked[kind] = self.waits(Array(repeating: 8, count: 100))
        }
        figures.attacked[.commit]?.refused = 3
        figures.memory = AttackFigures.Memory(before: 20_000_000, peak: 5_400_000_000, after: 30_000_000)
        figures.counts.add(.refused(.busy))
        figures.counts.sent = 960
        figures.attackSeconds = 10
        figures.terminationSeconds = 0.25
        return figures
    }

    /// A wait of one second counts as the hundred requests that would have been sent in that second.
    @Test func aLongWaitCountsForTheRequestsItDelayed() throws {
        let short = try #require(Percentiles(self.waits(Array(repeating: 1, count: 900))))
        #expect(short.p50 == short.max)
        let percentiles = try #require(Percentiles(self.waits(Array(repeating: 1, count: 900) + [1_000])))
        #expect(percentiles.p50 < 1_100)
        #expect((850_000...950_000).contains(percentiles.p99))
        #expect((990_000...1_010_000).contains(percentiles.max))
    }

    @Test func anUnfinishedWaitCountsWhenItIsLong() {
        var waits = Waits()
        waits.addUnfinished(.milliseconds(900))
        #expect(Percentiles(waits) == nil)
        waits.addUnfinished(.seconds(2))
        #expect(Percentiles(waits).map { $0.max >= 2_000_000 } == true)
        #expect(Percentiles(nil) == nil)
    }

    @Test func attackCountsAddUpAndDescribeTheOutcomes() {
        var counts = AttackCounts()
        #expect(counts.text == "nothing")
        for outcome in [
            AttackConnection.Outcome.refused(.busy), .refused(.busy), .refused(.limitExceeded), .late, .ended,
        ] {
            counts.add(outcome)
        }
        var twice = counts
        twice.add(counts)
        #expect(twice.refused == ["BUSY": 4, "LIMIT_EXCEEDED": 2] && twice.late == 2 && twice.ended == 2)
        #expect(counts.text == "2 BUSY, 1 LIMIT_EXCEEDED, 1 not answered, 1 ended with their connection")
    }

    @Test func figuresArePrintedAsText() throws {
        let lines = AttackReport.lines(self.figures)
        #expect(lines[1] == "bulk: an import of a million rows")
        #expect(lines[3].hasPrefix("  commit     2.00 2.00 2.00             8.0"))
        #expect(lines[3].hasSuffix(" 4.00"))
        #expect(lines.contains("  bystanders were refused 3 times, and lost 0 connections or answers"))
        #expect(lines.contains("  the attack took 10.00 s: 960 sent, 1 BUSY"))
        let end = "  nestd's memory: 20 MB before, 5400 MB at most, 30 MB after; SIGTERM ended it after 0.25 s"
        #expect(lines.last == end)
        #expect(AttackReport.row(self.figures).hasSuffix(" | 20, 5400, 30 | 0.25 s |"))
    }

    @Test func aCrashIsPrintedInEveryFormat() throws {
        var figures = self.figures
        figures.died = .signal(4)
        figures.terminationSeconds = nil
        figures.memory.after = nil
        figures.attacked = [:]
        #expect(
            AttackReport.lines(figures).last == "  nestd's memory: 20 MB before, 5400 MB at most; it DIED: signal 4"
        )
        #expect(
            AttackReport.row(figures)
                == "| `bulk` | 2.00 → no answer | 2.00 → no answer | 2.00 → no answer | 2.00 → no answer | 20, 5400, - | died: signal 4 |"
        )
        let json = try #require(
            try JSONSerialization.jsonObject(with: Data(AttackReport.json(figures).utf8)) as? [String: Any]
        )
        #expect(json["died"] as? String == "signal 4")
        #expect(json["terminationSeconds"] == nil)
        #expect((json["memoryBytes"] as? [String: Int])?["peak"] == 5_400_000_000)
    }

    @Test func aServerThatIgnoresSIGTERMIsReported() {
        var figures = self.figures
        figures.terminationSeconds = nil
        #expect(AttackReport.lines(figures).last?.hasSuffix("SIGTERM did not end it") == true)
        #expect(AttackReport.row(figures).hasSuffix("| killed |"))
    }
}
