"""The rules of calls, one by one, without a socket or an event loop."""

from gateway.realtime.actions import Answer, CallKey, CancelResponse, Create, EndWait, Refuse, RetryLater, Start, Stop
from gateway.realtime.call_table import MAX_ATTEMPTS, MAX_FOLLOW_UPS, CallTable
from gateway.realtime.response_slot import FOLLOW_UP_MARK

KEY = CallKey("r1", "c1")


def table_with_finished_origin(**done: bool) -> CallTable:
    """A response has called the tool and is done; the retrieval runs."""
    table = CallTable()
    table.response_created("r1")
    assert table.call_complete("r1", "c1", "{}") == [Start(KEY, "{}", 1)]
    showing, actions = table.response_done("r1", "completed", **done)
    assert (showing, actions) == ("show" if done else "swallow", [])
    return table


def test_an_output_waits_for_its_responses_end() -> None:
    """Rule 2: a result that comes early is kept."""
    table = CallTable()
    table.response_created("r1")
    table.call_complete("r1", "c1", "{}")
    assert table.settled(KEY, "out") == []
    _, actions = table.response_done("r1", "completed")
    assert [type(action) for action in actions] == [Answer, Create]


def test_a_result_is_answered_once_and_followed_up_once() -> None:
    """Rules 1 and 3: the second report of the same retrieval changes nothing."""
    table = table_with_finished_origin()
    answer, create = table.settled(KEY, "out")
    assert answer == Answer(KEY, "out")
    assert isinstance(create, Create)
    assert table.settled(KEY, "again") == []


def test_one_follow_up_serves_several_calls_in_their_order() -> None:
    """Rule 3: outputs go in the order of the calls, whichever retrieval ends first."""
    table = CallTable()
    table.call_complete("r1", "c1", "{}", 0)
    table.call_complete("r1", "c2", "{}", 1)
    table.response_done("r1", "completed")
    assert table.settled(CallKey("r1", "c2"), "two") == []
    first, second, create = table.settled(KEY, "one")
    assert (first, second) == (Answer(KEY, "one"), Answer(CallKey("r1", "c2"), "two"))
    assert isinstance(create, Create)


def test_speech_supersedes_a_retrieval() -> None:
    """Rule 4: stopped, told to the client, answered as superseded, and its late result dropped."""
    table = table_with_finished_origin()
    actions = table.speech_started()
    assert actions == [Stop(KEY, "superseded"), EndWait("r1", "cancelled", "turn_detected"), Answer(KEY, None)]
    assert table.settled(KEY, "late") == []
    assert table.idle


def test_speech_that_does_not_interrupt_supersedes_nothing() -> None:
    """Where the client has switched interruptions off, the follow-up waits until the user has spoken."""
    table = table_with_finished_origin()
    table.slot.model_answers = False
    assert table.speech_started(interrupts=False) == []
    assert table.settled(KEY, "out") == [Answer(KEY, "out")]
    (create,) = table.speech_stopped()
    assert isinstance(create, Create)


def test_a_cancelled_response_never_begins_its_calls() -> None:
    """Arguments are also reported complete for a response that was interrupted."""
    table = CallTable()
    table.response_created("r1")
    table.call_seen("r1", "c1")
    table.speech_started()
    assert table.call_complete("r1", "c1", '{"que') == []
    _, actions = table.response_done("r1", "cancelled")
    assert actions == [Answer(KEY, None)]


def test_a_stale_follow_up_is_cancelled_when_it_appears() -> None:
    """Rule 5: it was asked for before the user spoke, and begins after."""
    table = table_with_finished_origin()
    _, create = table.settled(KEY, "out")
    assert isinstance(create, Create)
    table.speech_started()
    metadata = create.event["response"]["metadata"]
    assert table.response_created("r2", metadata) == [CancelResponse("r2")]
    assert table.response_done("r2", "completed")[0] == "hide"


def test_with_a_call_of_the_client_the_follow_up_is_the_clients() -> None:
    """Rule 6: our output goes first, then what the client asked for."""
    table = CallTable()
    table.call_complete("r1", "c1", "{}")
    table.client_call_seen("r1", "c2")
    table.response_done("r1", "completed", shown=True)
    event = {"type": "response.create", "event_id": "mine"}
    assert table.client_create(event) == []
    assert table.settled(KEY, "out") == [Answer(KEY, "out"), Create(event)]


def test_a_client_that_asks_while_its_answer_is_on_the_way_is_refused() -> None:
    """It is told what the model itself would say: a response is under way."""
    table = table_with_finished_origin()
    event = {"type": "response.create", "event_id": "mine"}
    assert table.client_create(event) == [Refuse(event)]


def test_a_response_outside_the_conversation_waits_for_nothing() -> None:
    """Such responses may run beside any other."""
    table = table_with_finished_origin()
    event = {"type": "response.create", "response": {"conversation": "none"}}
    assert table.client_create(event) == [Create(event)]


def test_after_a_lost_connection_nothing_is_sent() -> None:
    """Rule 7: calls fail here; the new session does not know them."""
    table = table_with_finished_origin()
    assert table.connection_lost() == [Stop(KEY, "connection_lost"), EndWait("r1", "failed", "connection_lost")]
    assert table.settled(KEY, "late") == []
    assert table.idle


def test_a_busy_model_is_asked_again_within_bounds() -> None:
    """Growing pauses, and an end: the client is told instead of waiting for ever."""
    table = table_with_finished_origin()
    _, create = table.settled(KEY, "out")
    assert isinstance(create, Create)
    event_id, pauses = create.event["event_id"], []
    for _ in range(MAX_ATTEMPTS - 1):
        (later,) = table.rejected(event_id, busy=True)
        assert isinstance(later, RetryLater)
        pauses.append(later.seconds)
        assert table.retry() == [create]
    assert pauses == sorted(pauses)
    assert table.rejected(event_id, busy=True) == [EndWait("r1", "failed", "follow_up_refused")]


def test_a_chain_of_calls_ends_in_words() -> None:
    """A model that calls again and again is at last asked for an answer without tools."""
    table, metadata, choices = CallTable(), None, []
    for number in range(MAX_FOLLOW_UPS):
        response, call = f"r{number}", f"c{number}"
        table.response_created(response, metadata)
        table.call_complete(response, call, "{}")
        table.response_done(response, "completed")
        create = table.settled(CallKey(response, call), "out")[-1]
        assert isinstance(create, Create)
        metadata = create.event["response"]["metadata"]
        choices.append(create.event["response"]["tool_choice"])
    assert choices == ["auto"] * (MAX_FOLLOW_UPS - 1) + ["none"]


def test_a_follow_up_is_asked_for_as_its_origin_was() -> None:
    """What the client set for one response holds for the part of it that answers; a forced tool does not."""
    table = CallTable()
    body = {"instructions": "Whisper.", "metadata": {"a": "b"}, "tool_choice": "required", "input": []}
    table.client_create({"type": "response.create", "event_id": "mine", "response": body})
    table.response_created("r1", {"a": "b"})
    table.call_complete("r1", "c1", "{}")
    table.response_done("r1", "completed")
    create = table.settled(KEY, "out")[-1]
    assert isinstance(create, Create)
    sent = create.event["response"]
    assert (sent["instructions"], sent["tool_choice"], "input" in sent) == ("Whisper.", "auto", False)
    assert sent["metadata"] == {"a": "b", FOLLOW_UP_MARK: create.event["event_id"]}


def test_a_call_that_is_told_again_is_not_answered_again() -> None:
    """Models have been seen to repeat events; the output is there already, and nothing is under way because of it."""
    table = table_with_finished_origin()
    _, create = table.settled(KEY, "out")
    assert isinstance(create, Create)
    table.response_created("r2", create.event["response"]["metadata"])
    table.response_done("r2", "completed", shown=True)
    table.client_call_seen("r3", "c9")
    table.response_done("r3", "completed", shown=True)
    assert table.call_complete("r1", "c1", "{}") == []
    table.client_call_seen("r3", "c9")
    assert table.idle


def test_a_call_that_is_told_after_the_end_is_answered_and_holds_nothing_up() -> None:
    """Rule 1 for events out of order: nobody waits for it, so it is answered as superseded, once."""
    table = CallTable()
    table.response_created("r1")
    table.response_done("r1", "completed", shown=True)
    assert table.call_complete("r1", "c1", "{}") == [Answer(KEY, None)]
    assert table.call_complete("r1", "c1", "{}") == []
    table.client_call_seen("r1", "c2")
    assert table.idle


def test_a_call_id_that_is_used_again_names_another_call() -> None:
    """Rule 1 for models that count the calls of each response: every call has an output and a follow-up."""
    table = table_with_finished_origin()
    _, create = table.settled(KEY, "one")
    assert isinstance(create, Create)
    table.response_created("r2", create.event["response"]["metadata"])
    again = CallKey("r2", "c1")
    assert table.call_complete("r2", "c1", "{}") == [Start(again, "{}", 1)]
    table.response_done("r2", "completed")
    answer, create = table.settled(again, "two")
    assert answer == Answer(again, "two")
    assert isinstance(create, Create)


def test_a_call_id_belongs_to_whom_it_was_used_for_last() -> None:
    """A client may answer its own call although an earlier one of ours had the same id."""
    table = table_with_finished_origin()
    assert table.owns("c1")
    table.client_call_seen("r2", "c1")
    assert not table.owns("c1")
    assert table.knows(KEY)
    assert not table.knows(CallKey("r2", "c1"))


def test_a_new_session_of_the_model_may_count_from_the_beginning() -> None:
    """What was called in the lost one is no call that was seen already."""
    table = table_with_finished_origin()
    table.connection_lost()
    table.response_created("r1")
    assert table.call_complete("r1", "c1", "{}") == [Start(KEY, "{}", 1)]


def test_a_follow_up_is_cancelled_also_where_the_model_gives_no_metadata_back() -> None:
    """Rule 5: nobody has spoken since, so what begins can only be what had been asked for."""
    table = table_with_finished_origin()
    table.settled(KEY, "out")
    table.client_cancel()
    assert table.response_created("r2") == [CancelResponse("r2")]
    assert table.response_done("r2", "completed")[0] == "hide"


def test_what_begins_after_the_user_has_spoken_is_the_answer_to_that() -> None:
    """Where the model answers by itself and tells nothing, it is not taken for what was asked before."""
    table = table_with_finished_origin()
    table.settled(KEY, "out")
    table.speech_started()
    table.speech_stopped()
    assert table.response_created("r2") == []
    assert table.response_done("r2", "completed", shown=True)[0] == "show"
    assert table.idle


def test_what_is_neither_begun_nor_refused_is_not_waited_for_for_ever() -> None:
    """A model that loses a request does not silence the session."""
    table = table_with_finished_origin()
    _, create = table.settled(KEY, "out")
    assert isinstance(create, Create)
    assert table.overdue(create.event) == [EndWait("r1", "failed", "follow_up_refused")]
    assert table.overdue(create.event) == []
    mine = {"type": "response.create", "event_id": "mine"}
    assert table.client_create(mine) == [Create(mine)]
    assert table.overdue(dict(mine)) == [], "another request with the same id"
    assert table.overdue(mine) == []
    assert table.idle
