import Foundation
import Testing

@testable import nestbench

/// What the two sides of a measurement used of the hardware, and its printed form.
@Suite struct HardwareUseTests {
    private var measurement: nestbench.Measurement {
        var measurement = nestbench.Measurement(
            workload: "echo",
            parameters: "1 x 1",
            unit: "/s",
            nest: [1],
            limitName: "C",
            limit: [2]
        )
        measurement.nestUse = [HardwareUse(processor: 1.25, clients: 0.5)]
        measurement.limitUse = [0.1, 0.9, 0.2].map { HardwareUse(processor: $0, disk: $0 / 2) }
        return measurement
    }

    @Test func aMeasurementHasTheMediansOfBothSides() throws {
        let uses = self.measurement.uses
        #expect(uses.map(\.side) == ["nest", "limit"])
        #expect(uses.map(\.use.text) == ["processor 1.25, clients 0.50", "processor 0.20, disk 0.10"])
        let json = Data("{\(Report.fields(self.measurement).joined(separator: ","))}".utf8)
        let object = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
        #expect(object["nestUse"] as? [String: Double] == ["processor": 1.25, "clients": 0.5])
        #expect(object["limitUse"] as? [String: Double] == ["processor": 0.2, "disk": 0.1])
    }

    @Test func aMeasurementWithoutHardwareSaysNothingOfIt() {
        var measurement = self.measurement
        (measurement.nestUse, measurement.limitUse) = ([], [])
        #expect(measurement.uses.isEmpty)
        #expect(!Report.fields(measurement).contains { $0.contains("Use") })
    }

    @Test func aMeterCountsTheProcessorAndTheDisk() throws {
        #expect(try Disk.syncsPerSecond(in: NSTemporaryDirectory()) > 0)
        let meter = HardwareMeter()
        let start = Turns.threadTime()
        while Turns.threadTime() - start < 0.01 {}
        let use = meter.stop(syncs: 5, disk: 1e9)
        #expect(use.processor > 0 && use.clients == nil)
        #expect(use.disk.map { $0 > 0 && $0 < 1 } == true)
    }
}
