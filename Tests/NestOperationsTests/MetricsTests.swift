import CoreMetrics
import NestModel
import NestOperations
import NestTestSupport
import Testing

/// Recorded metrics as Prometheus scrapes them.
@Suite struct MetricsTests {
    @Test func recordedMetricsAreScraped() throws {
        let registry = MetricRegistry()
        let counter = Counter(label: "nest.bytes.in", dimensions: [], factory: registry)
        counter.increment(by: 5)
        counter.increment()
        // A second counter with the same name is the same counter.
        Counter(label: "nest.bytes.in", dimensions: [], factory: registry).increment(by: 4)
        Counter(label: "nest.connections.total", dimensions: [], factory: registry).increment(by: 2)
        Gauge(label: "nest.connections", dimensions: [], factory: registry).record(7)
        for (name, value) in [("b", 1), ("a\"\\\n", 2)] {
            Counter(label: "nest.odd", dimensions: [("name", name)], factory: registry).increment(by: value)
        }
        Recorder(label: "nest.sizes", dimensions: [], aggregate: true, factory: registry).record(2.5)
        let timer = Timer(label: "nest.engine.batch", dimensions: [], factory: registry)
        for nanoseconds: Int64 in [1, 100_000, 100_001, 2_000_000, 60_000_000_000] {
            timer.recordNanoseconds(nanoseconds)
        }

        let scraped = try ScrapedMetrics(MetricsText.text(registry.families()))
        #expect(
            scraped.kinds == [
                "nest_bytes_in_total": "counter", "nest_connections_total": "counter", "nest_connections": "gauge",
                "nest_odd_total": "counter", "nest_sizes": "summary", "nest_engine_batch_seconds": "histogram",
            ]
        )
        #expect(scraped.values["nest_bytes_in_total"] == 10)
        #expect(scraped.values["nest_connections_total"] == 2)
        #expect(scraped.values["nest_connections"] == 7)
        #expect(scraped.values[#"nest_odd_total{name="b"}"#] == 1)
        #expect(scraped.values[#"nest_odd_total{name="a\"\\\n"}"#] == 2)
        #expect(scraped.values["nest_sizes_sum"] == 2.5)
        #expect(scraped.values[#"nest_engine_batch_seconds_bucket{le="0.0001"}"#] == 2)
        #expect(scraped.values[#"nest_engine_batch_seconds_bucket{le="0.0025"}"#] == 4)
        #expect(scraped.values[#"nest_engine_batch_seconds_bucket{le="10"}"#] == 4)
        #expect(scraped.values[#"nest_engine_batch_seconds_bucket{le="+Inf"}"#] == 5)
        #expect(scraped.values["nest_engine_batch_seconds_count"] == 5)
    }

    @Test func processMetricsAreReported() throws {
        let scraped = try ScrapedMetrics(MetricsText.text(ProcessMetrics(storePath: "/nest.sqlite").families()))
        #expect(!scraped.helps.values.contains(MetricHelp.unknown))
        #expect((scraped.values["process_resident_memory_bytes"] ?? 0) > 1_000_000)
        #expect((scraped.values["process_open_fds"] ?? 0) >= 3)
        #expect((scraped.values["nest_store_free_bytes"] ?? 0) > 0)
        // A store in memory has no disk space to report.
        let inMemory = try ScrapedMetrics(MetricsText.text(ProcessMetrics(storePath: nil).families()))
        #expect(inMemory.values["nest_store_free_bytes"] == nil)
    }

    /// The test parser refuses texts that Prometheus would refuse.
    @Test(arguments: [
        "nest_a 1\n", "# HELP nest_a x\n# TYPE nest_a counter\nnest_b 1\n", "# HELP nest_a x\n# TYPE nest_a count\n",
        "# HELP nest_a x\n# TYPE nest_a gauge\nnest_a 1\nnest_a 2\n", "# HELP nest_a x\n# TYPE nest_a gauge\nnest_a 1",
        "# HELP nest_a x\n# TYPE nest_a gauge\nnest_a{b=c} 1\n", "# HELP nest_a x\n# TYPE nest_a gauge\nnest_a one\n",
        "\n",
    ])
    func anInvalidScrapeIsRefused(_ text: String) {
        #expect(throws: (any Error).self) { try ScrapedMetrics(text) }
    }
}
