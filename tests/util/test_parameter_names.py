from seqray.util.parameter_names import named_as_options, parameter, parameters


def test_parameters_are_named_as_in_python():
    assert parameter("max_rank") == "max_rank"
    assert parameters("n_prefixes", "basis") == "n_prefixes=…, basis=…"


def test_the_command_line_names_them_as_options_until_it_ends():
    with named_as_options():
        assert parameter("time_limit") == "--time-limit"
        assert parameters("n_prefixes", "basis") == "--prefixes, --basis FILE"
    assert parameter("time_limit") == "time_limit"
