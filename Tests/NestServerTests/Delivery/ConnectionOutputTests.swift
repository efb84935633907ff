import NestServer
import Testing

struct ConnectionOutputTests {
    /// What a gate could not send is in the channel, also if the connection took it for sent before.
    @Test func whatASocketHasNotAcceptedIsInTheChannel() {
        var output = ConnectionOutput()
        _ = output.wrote(100)
        output.notePassedOn()
        #expect(output.uncountedByteCount == 0)
        output.noteUnsent(30)
        #expect(output.uncountedByteCount == 30)
    }

    @Test(arguments: [false, true]) func bytesThatAreWrittenAgainCountOnce(isReportedBetween: Bool) {
        var output = ConnectionOutput()
        var reported = 0
        _ = output.wrote(100)
        output.notePassedOn()
        if isReportedBetween { reported += output.takeUnreported() }
        output.takeBack(40)
        #expect(output.uncountedByteCount == 0)
        reported += output.takeUnreported()
        _ = output.wrote(40)
        #expect(output.uncountedByteCount == 40)
        reported += output.takeUnreported()
        #expect(reported == 100 && output.writtenByteCount == 100)
        _ = output.wrote(5)
        #expect(output.takeUnreported() == 5)
    }
}
