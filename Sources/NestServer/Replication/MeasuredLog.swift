import Dispatch
import NestStore

/// Measures the appends of a log.
final class MeasuredLog: SharedLog {
    private let log: any SharedLog
    private let metrics: ReplicaMetrics

    init(_ log: any SharedLog, _ metrics: ReplicaMetrics) {
        self.log = log
        self.metrics = metrics
    }

    func append(_ record: LogRecord, chain: Chain, after: LogPosition) -> AppendOutcome {
        let start = DispatchTime.now().uptimeNanoseconds
        let outcome = self.log.append(record, chain: chain, after: after)
        self.metrics.appended(nanoseconds: DispatchTime.now().uptimeNanoseconds - start)
        switch outcome {
        case .unknown: self.metrics.countUnknown()
        case .taken: self.metrics.countTaken()
        case .appended, .behind, .refused: break
        }
        return outcome
    }
}
