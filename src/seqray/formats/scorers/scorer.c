/* @TITLE@

   Words are arrays of codes: symbol i of seqray_symbols has the code i.

@USE@

   Or symbol by symbol: seqray_start, seqray_step, and then any of the functions that read a state.
   Compile with -lm. Every function is thread-safe. */
#include <float.h>
#include <math.h>
#include <stddef.h>

@TABLES@

/* The state of a word: weights = vector * 2^exponent, over the states of one group. */
typedef struct {
    int group;
    long exponent;
    double vector[SEQRAY_MAX_SIZE];
} seqray_state;

void seqray_start(seqray_state *state) {
    state->group = SEQRAY_START;
    state->exponent = 0;
    for (int i = 0; i < SEQRAY_MAX_SIZE; i++)
        state->vector[i] = i < SEQRAY_SIZES[SEQRAY_START] ? SEQRAY_INITIAL[i] : 0;
}

static void seqray_rescale(seqray_state *state) {
    double largest = 0;
    int exponent;
    for (int i = 0; i < SEQRAY_SIZES[state->group]; i++)
        largest = fmax(largest, fabs(state->vector[i]));
    if (largest == 0 || (largest > 1e-100 && largest < 1e100)) return;
    frexp(largest, &exponent);
    for (int i = 0; i < SEQRAY_MAX_SIZE; i++) state->vector[i] = ldexp(state->vector[i], -exponent);
    state->exponent += exponent;
}

/* Read a symbol; returns -1, and changes nothing, if there is no such symbol. */
int seqray_step(seqray_state *state, int symbol) {
    double moved[SEQRAY_MAX_SIZE] = {0}, weight = 0;
    int group = state->group, n = SEQRAY_SIZES[group];
    if (symbol < 0 || symbol >= SEQRAY_N_SYMBOLS) return -1;
    long begin = SEQRAY_BEGINS[group * SEQRAY_N_SYMBOLS + symbol];
    int target = SEQRAY_NEXT_GROUP[group * SEQRAY_N_SYMBOLS + symbol], m = SEQRAY_SIZES[target];
    if (begin >= 0) {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                moved[j] += state->vector[i] * SEQRAY_VALUES[begin + (long)i * m + j];
    } else {
        for (int i = 0; i < n; i++)
            weight += state->vector[i] *
                      SEQRAY_EMISSION[(SEQRAY_OFFSETS[group] + i) * SEQRAY_N_SYMBOLS + symbol];
        for (int j = 0; j < m; j++) moved[j] = weight * SEQRAY_ENTRY[SEQRAY_OFFSETS[target] + j];
    }
    state->group = target;
    for (int j = 0; j < SEQRAY_MAX_SIZE; j++) state->vector[j] = moved[j];
    seqray_rescale(state);
    return 0;
}

static double seqray_read_column(const seqray_state *state, const double *table, int width,
                                 int column) {
    double sum = 0;
    for (int i = 0; i < SEQRAY_SIZES[state->group]; i++)
        sum += state->vector[i] * table[(SEQRAY_OFFSETS[state->group] + i) * (long)width + column];
    return sum;
}

static double seqray_unscaled(double value, long exponent) {
    return ldexp(value, exponent > 9999 ? 9999 : exponent < -9999 ? -9999 : (int)exponent);
}

/* The weight of the word that was read: 0 where it is too small for a double. */
double seqray_weight(const seqray_state *state) {
    return seqray_unscaled(seqray_read_column(state, SEQRAY_FINAL, 1, 0), state->exponent);
}

/* The natural logarithm of the weight's size; -INFINITY for a weight of 0. */
double seqray_log_weight(const seqray_state *state) {
    return log(fabs(seqray_read_column(state, SEQRAY_FINAL, 1, 0))) + state->exponent * log(2);
}

/* Next-symbol probabilities, the end last; returns -1 if the automaton does not predict. */
int seqray_next(const seqray_state *state, double *next) {
    double size = 0, total;
    if (!SEQRAY_PREDICTS) return -1;
    total = seqray_read_column(state, SEQRAY_READERS, SEQRAY_N_SYMBOLS + 2, SEQRAY_N_SYMBOLS + 1);
    for (int i = 0; i <= SEQRAY_N_SYMBOLS; i++) {
        next[i] = seqray_read_column(state, SEQRAY_READERS, SEQRAY_N_SYMBOLS + 2, i) / total;
        size += fabs(next[i]);
    }
    if (!(size <= DBL_MAX))
        for (int i = 0; i <= SEQRAY_N_SYMBOLS; i++) next[i] = 1.0 / (SEQRAY_N_SYMBOLS + 1);
    return 0;
}

/* The class of the word, and the probability of each class; -1 if the automaton has no classes. */
int seqray_classify(const seqray_state *state, double *scores) {
    double total = 0, largest;
    int best = 0;
    if (SEQRAY_N_CLASSES == 0) return -1;
    for (int i = 0; i < SEQRAY_N_CLASSES; i++) {
        scores[i] = seqray_read_column(state, SEQRAY_OUTPUTS, SEQRAY_N_CLASSES, i);
        scores[i] = seqray_unscaled(scores[i], state->exponent);
        scores[i] = fmin(fmax(scores[i], -1e100), 1e100);
        if (scores[i] > scores[best]) best = i;
    }
    largest = scores[best];
    for (int i = 0; i < SEQRAY_N_CLASSES; i++) {
        scores[i] = SEQRAY_IS_LOGIT ? exp(scores[i] - largest) : fmax(scores[i], 0);
        total += scores[i];
    }
    for (int i = 0; i < SEQRAY_N_CLASSES; i++)
        scores[i] = total > 0 ? scores[i] / total : i == best;
    return SEQRAY_THRESHOLD > 0 ? scores[SEQRAY_N_CLASSES > 1] >= SEQRAY_THRESHOLD : best;
}

/* The weight of a word; log_weight and next may be NULL. NAN for an unknown symbol. The
   next symbols are NAN if the automaton does not predict. */
double seqray_score(const int *word, size_t length, double *log_weight, double *next) {
    seqray_state state;
    seqray_start(&state);
    for (size_t i = 0; i < length; i++)
        if (seqray_step(&state, word[i]) < 0) return NAN;
    if (log_weight) *log_weight = seqray_log_weight(&state);
    if (next && seqray_next(&state, next) < 0)
        for (int i = 0; i <= SEQRAY_N_SYMBOLS; i++) next[i] = NAN;
    return seqray_weight(&state);
}
