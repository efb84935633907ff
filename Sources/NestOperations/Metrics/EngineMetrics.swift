import NestModel

/// The engine's statistics as metrics.
package enum EngineMetrics {
    package static func families(_ statistics: [Statistic]) -> [MetricFamily] {
        statistics.map { statistic in
            let name = "nest_\(statistic.name)" + (statistic.isCounter ? "_total" : "")
            let kind = statistic.isCounter ? MetricFamily.Kind.counter : .gauge
            return MetricFamily(name, kind, help: MetricHelp.text(of: name), value: Double(statistic.value))
        }
    }
}
