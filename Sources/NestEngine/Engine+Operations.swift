import NestModel

/// What operators ask of the engine, between two batches.
extension Engine {
    package var currentStatistics: [Statistic] { self.statistics() }

    /// How many subscriptions each connection has, to results and to changes.
    package var subscriptionCounts: [ConnectionID: Int] {
        self.connections.mapValues { $0.views.count + $0.changes.count }
    }
}
