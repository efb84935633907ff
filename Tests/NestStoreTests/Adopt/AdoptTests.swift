import NestModel
import NestStore
import NestTestSupport
import Testing

/// Random stores as Core Data lays them out, adopted and compared object by object.
@Suite struct AdoptTests {
    @Test func anAdoptedStoreHasTheAppsObjects() throws {
        var total = (objects: 0, links: Int64(0), dangling: 0, files: 0)
        for seed in Seeds.range(0..<120) {
            var random = SeededRandom(seed: seed)
            let app = random.appStore()
            do {
                let adopted = try AdoptedApp(app, keepsLog: random.oneIn(3))
                let before = try adopted.files()
                let report = try adopted.adopt()
                #expect(report.refused.isEmpty, "seed \(seed): \(report.refused)")
                #expect(report.unreadColumns.isEmpty && report.unreadTables.isEmpty, "seed \(seed): \(report)")
                #expect(report.objectCount == Int64(app.objects.count), "seed \(seed)")
                #expect(report.dangling.reduce(0) { $0 + $1.count } == Int64(app.dangling.count), "seed \(seed)")
                #expect(try adopted.files() == before, "seed \(seed): the source is never written")
                #expect(try Store.check(adopted.target) { _ in }.problems == [], "seed \(seed)")
                try adopted.compare(report)
                total.objects += app.objects.count
                total.links += report.links.reduce(0) { $0 + $1.count }
                total.dangling += app.dangling.count
                total.files += before.count - 1
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
        }
        if Seeds.isUsual {
            #expect(total.objects > 2_000 && total.links > 2_000 && total.dangling > 50 && total.files > 50, "\(total)")
        }
    }
}
